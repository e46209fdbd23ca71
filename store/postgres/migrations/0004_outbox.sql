CREATE TABLE IF NOT EXISTS outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  instance_id uuid,
  envelope bytea,
  created_at bigint,
  relayed smallint NOT NULL,
  claimed_until bigint
);
