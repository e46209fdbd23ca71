CREATE TABLE IF NOT EXISTS interventions (
  instance_id  BLOB NOT NULL,
  id           BLOB NOT NULL,
  org_id       TEXT NOT NULL,
  action       TEXT NOT NULL,
  performed_by TEXT NOT NULL,
  reason       TEXT NOT NULL,
  before_state BLOB,
  after_state  BLOB,
  created_at   INTEGER,
  PRIMARY KEY (instance_id, id)
) STRICT;

CREATE TABLE IF NOT EXISTS dead_letters (
  id          BLOB NOT NULL PRIMARY KEY,
  org_id      TEXT NOT NULL,
  stream      TEXT NOT NULL,
  entry_id    TEXT NOT NULL,
  body        BLOB,
  reason      TEXT NOT NULL,
  received_at INTEGER
) STRICT;

CREATE INDEX IF NOT EXISTS dead_letters_org ON dead_letters (org_id, id);

CREATE TABLE IF NOT EXISTS meta (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
