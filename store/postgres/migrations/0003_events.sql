CREATE TABLE IF NOT EXISTS events (
  id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  instance_id uuid,
  type text COLLATE "C" NOT NULL,
  received_at bigint,
  processed smallint NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  duplicates bigint NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL,
  envelope bytea,
  PRIMARY KEY (org_id, event_id)
);

CREATE INDEX IF NOT EXISTS events_instance ON events (instance_id) WHERE instance_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS parked (
  org_id text COLLATE "C" NOT NULL,
  case_id text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  PRIMARY KEY (org_id, case_id, event_id)
);
