CREATE TABLE IF NOT EXISTS reason_codes (
  org_id text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  label text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  requires_note smallint NOT NULL,
  step_kinds bytea,
  active smallint NOT NULL,
  PRIMARY KEY (org_id, scope, code)
);

CREATE TABLE IF NOT EXISTS step_kinds (
  org_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  contract bytea,
  status text COLLATE "C" NOT NULL,
  PRIMARY KEY (org_id, name, version)
);
