CREATE TABLE IF NOT EXISTS instances (
  id                BLOB    NOT NULL,
  org_id            TEXT    NOT NULL,
  case_id           TEXT    NOT NULL,
  product_id        TEXT    NOT NULL,
  started_at        INTEGER,
  definition_id     BLOB    NOT NULL,
  snapshot_hash     TEXT    NOT NULL,
  mode              TEXT    NOT NULL,
  status            TEXT    NOT NULL,
  halt_reason       TEXT    NOT NULL,
  halt_note         TEXT    NOT NULL,
  halt_step_id      TEXT    NOT NULL,
  cancelled_by      TEXT    NOT NULL,
  cancelled_reason  TEXT    NOT NULL,
  deadline_exceeded INTEGER NOT NULL,
  supersedes_id     BLOB,
  superseded_by_id  BLOB,
  deadline_at       INTEGER,
  completed_at      INTEGER,
  wake_at           INTEGER,
  step_ids          TEXT    NOT NULL,
  version           INTEGER NOT NULL,
  machine           BLOB    NOT NULL,
  context           BLOB    NOT NULL,
  live              INTEGER GENERATED ALWAYS AS (CASE WHEN status <> 'cancelled' THEN 1 END) VIRTUAL,
  PRIMARY KEY (id)
) STRICT;

CREATE UNIQUE INDEX IF NOT EXISTS instances_case ON instances (org_id, case_id, live);

CREATE INDEX IF NOT EXISTS instances_list ON instances (status, org_id, id);

CREATE INDEX IF NOT EXISTS instances_wake ON instances (wake_at) WHERE wake_at IS NOT NULL;
