CREATE TABLE IF NOT EXISTS steps (
  instance_id uuid NOT NULL,
  step_id text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  started_at bigint,
  completed_at bigint,
  timeout_at bigint,
  correlation_id text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  input bytea,
  output bytea,
  error bytea,
  PRIMARY KEY (instance_id, step_id, attempt)
);
