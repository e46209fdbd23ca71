CREATE TABLE IF NOT EXISTS answers (
  org_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  header bytea,
  body bytea,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, name)
);

CREATE INDEX IF NOT EXISTS answers_age ON answers (created_at);
