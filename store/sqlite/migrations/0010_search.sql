CREATE TABLE IF NOT EXISTS attributes (
  instance_id BLOB NOT NULL,
  path        TEXT NOT NULL,
  value       BLOB NOT NULL,
  number      REAL,
  org_id      TEXT NOT NULL,
  PRIMARY KEY (instance_id, path, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS attributes_value ON attributes (org_id, path, value, instance_id);

CREATE INDEX IF NOT EXISTS attributes_number ON attributes (org_id, path, number, instance_id) WHERE number IS NOT NULL;

CREATE TABLE IF NOT EXISTS loose_events (
  org_id   TEXT NOT NULL,
  event_id BLOB NOT NULL,
  id       BLOB NOT NULL,
  case_id  TEXT NOT NULL,
  outcome  TEXT NOT NULL,
  type     TEXT NOT NULL,
  PRIMARY KEY (org_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS loose_events_outcome ON loose_events (org_id, outcome, id);

CREATE INDEX IF NOT EXISTS loose_events_case ON loose_events (org_id, case_id, id);

INSERT INTO loose_events (org_id, event_id, id, case_id, outcome, type)
  SELECT org_id, event_id, id, case_id, outcome, type FROM events
  WHERE instance_id IS NULL OR outcome IN ('parked', 'unmatched', 'rejected')
  ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS retention_policies (
  org_id        TEXT    NOT NULL PRIMARY KEY,
  keep_finished INTEGER NOT NULL,
  reason        TEXT    NOT NULL,
  updated_by    TEXT    NOT NULL,
  updated_at    INTEGER
) STRICT, WITHOUT ROWID;
