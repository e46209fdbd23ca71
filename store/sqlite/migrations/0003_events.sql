CREATE TABLE IF NOT EXISTS events (
  seq         INTEGER PRIMARY KEY,
  id          BLOB    NOT NULL,
  org_id      TEXT    NOT NULL,
  event_id    BLOB    NOT NULL,
  case_id     TEXT    NOT NULL,
  instance_id BLOB,
  type        TEXT    NOT NULL,
  received_at INTEGER,
  processed   INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  duplicates  INTEGER NOT NULL,
  verdict     TEXT    NOT NULL,
  error       TEXT    NOT NULL,
  envelope    BLOB
) STRICT;

CREATE UNIQUE INDEX IF NOT EXISTS events_key ON events (org_id, event_id);

CREATE INDEX IF NOT EXISTS events_instance ON events (instance_id) WHERE instance_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS parked (
  org_id   TEXT NOT NULL,
  case_id  TEXT NOT NULL,
  event_id BLOB NOT NULL,
  PRIMARY KEY (org_id, case_id, event_id)
) STRICT, WITHOUT ROWID;
