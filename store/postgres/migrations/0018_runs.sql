CREATE TABLE IF NOT EXISTS run_owners (
  owner text COLLATE "C" NOT NULL PRIMARY KEY,
  alive_until bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS runs (
  id uuid NOT NULL PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  trigger_type text COLLATE "C" NOT NULL,
  base_id uuid,
  created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  live bigint,
  fence bigint NOT NULL,
  seq bigint NOT NULL,
  total_steps bigint NOT NULL,
  started_at bigint,
  completed_at bigint,
  error bytea,
  record bytea NOT NULL,
  payload bytea
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS runs_tenant ON runs (tenant_id, id);

CREATE INDEX IF NOT EXISTS runs_status ON runs (tenant_id, status, id);

CREATE INDEX IF NOT EXISTS runs_workflow ON runs (tenant_id, workflow, id);

CREATE INDEX IF NOT EXISTS runs_base ON runs (base_id, id) WHERE base_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS runs_owner ON runs (owner, id) WHERE live = 1;

CREATE INDEX IF NOT EXISTS runs_ended ON runs (tenant_id, completed_at) WHERE live IS NULL;

CREATE TABLE IF NOT EXISTS run_steps (
  run_id uuid NOT NULL,
  step_id text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  seq bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  skill text COLLATE "C" NOT NULL,
  input_hash bytea,
  cache_key bytea,
  output_hash bytea,
  reason text COLLATE "C" NOT NULL,
  reason_detail bytea,
  cache_hit bigint NOT NULL,
  correlation uuid,
  started_at bigint,
  completed_at bigint,
  source_run_id uuid,
  artifacts bytea,
  extra bytea,
  manifest bytea,
  data bytea,
  debug bytea,
  PRIMARY KEY (run_id, step_id, attempt)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS flights (
  tenant_id text COLLATE "C" NOT NULL,
  name bytea NOT NULL,
  owner text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

CREATE TABLE IF NOT EXISTS step_cache (
  tenant_id text COLLATE "C" NOT NULL,
  name bytea NOT NULL,
  fence bigint NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  step_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  expires_at bigint,
  size bigint NOT NULL,
  tainted bytea,
  input_hash bytea,
  output_hash bytea,
  run_id uuid,
  class text COLLATE "C" NOT NULL,
  duration_ms bigint NOT NULL,
  cost double precision NOT NULL,
  artifacts bytea,
  manifest bytea,
  data bytea,
  PRIMARY KEY (tenant_id, name)
);

CREATE INDEX IF NOT EXISTS step_cache_entries ON step_cache (workflow, tenant_id, created_at, step_id, name, last_used_at, expires_at, size);

CREATE TABLE IF NOT EXISTS artifacts (
  id uuid NOT NULL PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  content_hash bytea,
  record bytea NOT NULL
);

CREATE INDEX IF NOT EXISTS artifacts_content ON artifacts (content_hash) WHERE content_hash IS NOT NULL;

CREATE TABLE IF NOT EXISTS artifact_uses (
  artifact_id uuid NOT NULL,
  used_by bytea NOT NULL,
  PRIMARY KEY (artifact_id, used_by)
);

CREATE INDEX IF NOT EXISTS artifact_uses_user ON artifact_uses (used_by);

CREATE TABLE IF NOT EXISTS run_signals (
  id uuid NOT NULL PRIMARY KEY,
  run_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  body bytea,
  signal_at bigint NOT NULL
);

CREATE INDEX IF NOT EXISTS run_signals_run ON run_signals (run_id);

CREATE TABLE IF NOT EXISTS run_raised (
  event_id text COLLATE "C" NOT NULL PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  run_id uuid NOT NULL,
  occurred_at bigint NOT NULL,
  record bytea NOT NULL
);

CREATE INDEX IF NOT EXISTS run_raised_order ON run_raised (occurred_at, event_id);
