CREATE TABLE IF NOT EXISTS jobs (
  id uuid NOT NULL PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  params bytea,
  selection bytea,
  status text COLLATE "C" NOT NULL,
  total bigint NOT NULL,
  applied bigint NOT NULL,
  refused bigint NOT NULL,
  failed bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at bigint,
  finished_at bigint,
  claimed_until bigint
);

CREATE INDEX IF NOT EXISTS jobs_org ON jobs (org_id, id);

CREATE INDEX IF NOT EXISTS jobs_status ON jobs (status, id);

CREATE TABLE IF NOT EXISTS job_items (
  job_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (job_id, instance_id)
);

CREATE TABLE IF NOT EXISTS job_results (
  job_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL,
  done_at bigint,
  PRIMARY KEY (job_id, instance_id)
);
