CREATE TABLE IF NOT EXISTS steps (
  instance_id    BLOB    NOT NULL,
  step_id        TEXT    NOT NULL,
  attempt        INTEGER NOT NULL,
  id             BLOB    NOT NULL,
  org_id         TEXT    NOT NULL,
  kind           TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  seq            INTEGER NOT NULL,
  started_at     INTEGER,
  completed_at   INTEGER,
  timeout_at     INTEGER,
  correlation_id TEXT    NOT NULL,
  outcome        TEXT    NOT NULL,
  input          BLOB,
  output         BLOB,
  error          BLOB,
  PRIMARY KEY (instance_id, step_id, attempt)
) STRICT, WITHOUT ROWID;
