CREATE TABLE IF NOT EXISTS versions_left (
  org_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  line text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (org_id, kind, line, version)
);
