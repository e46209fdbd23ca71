CREATE TABLE IF NOT EXISTS interventions (
  instance_id uuid NOT NULL,
  id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  performed_by text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  before_state bytea,
  after_state bytea,
  created_at bigint,
  PRIMARY KEY (instance_id, id)
);

CREATE TABLE IF NOT EXISTS dead_letters (
  id uuid NOT NULL PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  entry_id text COLLATE "C" NOT NULL,
  body bytea,
  reason text COLLATE "C" NOT NULL,
  received_at bigint
);

CREATE INDEX IF NOT EXISTS dead_letters_org ON dead_letters (org_id, id);

CREATE TABLE IF NOT EXISTS meta (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  value bigint NOT NULL
);
