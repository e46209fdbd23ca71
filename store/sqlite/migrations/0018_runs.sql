CREATE TABLE IF NOT EXISTS run_owners (
  owner       TEXT    NOT NULL PRIMARY KEY,
  alive_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS runs (
  id           BLOB    NOT NULL PRIMARY KEY,
  tenant_id    TEXT    NOT NULL,
  workflow     TEXT    NOT NULL,
  trigger_type TEXT    NOT NULL,
  base_id      BLOB,
  created_at   INTEGER NOT NULL,
  status       TEXT    NOT NULL,
  owner        TEXT    NOT NULL,
  live         INTEGER,
  fence        INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  total_steps  INTEGER NOT NULL,
  started_at   INTEGER,
  completed_at INTEGER,
  error        BLOB,
  record       BLOB    NOT NULL,
  payload      BLOB
) STRICT;

CREATE INDEX IF NOT EXISTS runs_tenant ON runs (tenant_id, id);

CREATE INDEX IF NOT EXISTS runs_status ON runs (tenant_id, status, id);

CREATE INDEX IF NOT EXISTS runs_workflow ON runs (tenant_id, workflow, id);

CREATE INDEX IF NOT EXISTS runs_base ON runs (base_id, id) WHERE base_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS runs_owner ON runs (owner, id) WHERE live = 1;

CREATE INDEX IF NOT EXISTS runs_ended ON runs (tenant_id, completed_at) WHERE live IS NULL;

CREATE TABLE IF NOT EXISTS run_steps (
  run_id        BLOB    NOT NULL,
  step_id       TEXT    NOT NULL,
  attempt       INTEGER NOT NULL,
  seq           INTEGER NOT NULL,
  status        TEXT    NOT NULL,
  skill         TEXT    NOT NULL,
  input_hash    BLOB,
  cache_key     BLOB,
  output_hash   BLOB,
  reason        TEXT    NOT NULL,
  reason_detail BLOB,
  cache_hit     INTEGER NOT NULL,
  correlation   BLOB,
  started_at    INTEGER,
  completed_at  INTEGER,
  source_run_id BLOB,
  artifacts     BLOB,
  extra         BLOB,
  manifest      BLOB,
  data          BLOB,
  debug         BLOB,
  PRIMARY KEY (run_id, step_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS flights (
  tenant_id TEXT    NOT NULL,
  name      BLOB    NOT NULL,
  owner     TEXT    NOT NULL,
  fence     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS step_cache (
  tenant_id    TEXT    NOT NULL,
  name         BLOB    NOT NULL,
  fence        INTEGER NOT NULL,
  workflow     TEXT    NOT NULL,
  step_id      TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at   INTEGER,
  size         INTEGER NOT NULL,
  tainted      BLOB,
  input_hash   BLOB,
  output_hash  BLOB,
  run_id       BLOB,
  class        TEXT    NOT NULL,
  duration_ms  INTEGER NOT NULL,
  cost         REAL    NOT NULL,
  artifacts    BLOB,
  manifest     BLOB,
  data         BLOB,
  PRIMARY KEY (tenant_id, name)
) STRICT;

CREATE INDEX IF NOT EXISTS step_cache_entries ON step_cache (workflow, tenant_id, created_at, step_id, name, last_used_at, expires_at, size);

CREATE TABLE IF NOT EXISTS artifacts (
  id           BLOB NOT NULL PRIMARY KEY,
  tenant_id    TEXT NOT NULL,
  content_hash BLOB,
  record       BLOB NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS artifacts_content ON artifacts (content_hash) WHERE content_hash IS NOT NULL;

CREATE TABLE IF NOT EXISTS artifact_uses (
  artifact_id BLOB NOT NULL,
  used_by     BLOB NOT NULL,
  PRIMARY KEY (artifact_id, used_by)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS artifact_uses_user ON artifact_uses (used_by);

CREATE TABLE IF NOT EXISTS run_signals (
  id        BLOB    NOT NULL PRIMARY KEY,
  run_id    BLOB    NOT NULL,
  kind      TEXT    NOT NULL,
  body      BLOB,
  signal_at INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS run_signals_run ON run_signals (run_id);

CREATE TABLE IF NOT EXISTS run_raised (
  event_id    TEXT    NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL,
  run_id      BLOB    NOT NULL,
  occurred_at INTEGER NOT NULL,
  record      BLOB    NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS run_raised_order ON run_raised (occurred_at, event_id);
