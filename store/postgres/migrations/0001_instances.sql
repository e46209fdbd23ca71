CREATE TABLE IF NOT EXISTS cases (
  org_id text COLLATE "C" NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (org_id, case_id)
);

CREATE TABLE IF NOT EXISTS instances (
  id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  product_id text COLLATE "C" NOT NULL,
  started_at bigint,
  definition_id uuid NOT NULL,
  snapshot_hash text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  halt_reason text COLLATE "C" NOT NULL,
  halt_note text COLLATE "C" NOT NULL,
  halt_step_id text COLLATE "C" NOT NULL,
  cancelled_by text COLLATE "C" NOT NULL,
  cancelled_reason text COLLATE "C" NOT NULL,
  deadline_exceeded smallint NOT NULL,
  supersedes_id uuid,
  superseded_by_id uuid,
  deadline_at bigint,
  completed_at bigint,
  wake_at bigint,
  step_ids text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  machine bytea NOT NULL,
  context bytea NOT NULL,
  live smallint GENERATED ALWAYS AS (CASE WHEN status <> 'cancelled' THEN 1 END) STORED,
  PRIMARY KEY (id)
);

CREATE UNIQUE INDEX IF NOT EXISTS instances_case ON instances (org_id, case_id, live);

CREATE INDEX IF NOT EXISTS instances_list ON instances (status, org_id, id);

CREATE INDEX IF NOT EXISTS instances_wake ON instances (wake_at) WHERE wake_at IS NOT NULL;

ALTER TABLE instances ALTER COLUMN context SET STORAGE EXTERNAL;

-- A row is rewritten at every step: with room on its page, and its documents in
-- the row, most updates touch no index.
ALTER TABLE instances SET (fillfactor = 50, toast_tuple_target = 8160);
