CREATE TABLE IF NOT EXISTS attributes (
  instance_id uuid NOT NULL,
  path text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  number double precision,
  org_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, path, value)
);

CREATE INDEX IF NOT EXISTS attributes_value ON attributes (org_id, path, value, instance_id);

CREATE INDEX IF NOT EXISTS attributes_number ON attributes (org_id, path, number, instance_id) WHERE number IS NOT NULL;

CREATE TABLE IF NOT EXISTS loose_events (
  org_id text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  id uuid NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  PRIMARY KEY (org_id, event_id)
);

CREATE INDEX IF NOT EXISTS loose_events_outcome ON loose_events (org_id, outcome, id);

CREATE INDEX IF NOT EXISTS loose_events_case ON loose_events (org_id, case_id, id);

INSERT INTO loose_events (org_id, event_id, id, case_id, outcome, type)
  SELECT org_id, event_id, id, case_id, outcome, type FROM events
  WHERE instance_id IS NULL OR outcome IN ('parked', 'unmatched', 'rejected')
  ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS retention_policies (
  org_id text COLLATE "C" NOT NULL PRIMARY KEY,
  keep_finished bigint NOT NULL,
  reason text COLLATE "C" NOT NULL,
  updated_by text COLLATE "C" NOT NULL,
  updated_at bigint
);
