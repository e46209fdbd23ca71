CREATE TABLE IF NOT EXISTS log_head (
  id bigint PRIMARY KEY,
  seq bigint NOT NULL,
  joins bigint NOT NULL
);

INSERT INTO log_head (id, seq, joins) VALUES (1, 0, 0) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS log_entries (
  seq bigint PRIMARY KEY,
  stream text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  instance_id uuid,
  envelope bytea,
  created_at bigint,
  relayed smallint NOT NULL
);

CREATE TABLE IF NOT EXISTS log_groups (
  grp text COLLATE "C" NOT NULL PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  lease_until bigint
);

CREATE TABLE IF NOT EXISTS log_positions (
  grp text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  acked text COLLATE "C" NOT NULL,
  PRIMARY KEY (grp, stream)
);
