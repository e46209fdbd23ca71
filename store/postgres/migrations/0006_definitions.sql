CREATE TABLE IF NOT EXISTS definitions (
  id uuid NOT NULL PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL,
  product_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  line text COLLATE "C" NOT NULL,
  is_template smallint NOT NULL,
  status text COLLATE "C" NOT NULL,
  default_mode text COLLATE "C" NOT NULL,
  body bytea,
  workflow_timeout bigint NOT NULL,
  snapshot_hash text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at bigint,
  updated_at bigint,
  published_at bigint,
  active_product text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN org_id <> '' AND kind = 'case' AND status = 'active' THEN product_id END) STORED
);

CREATE UNIQUE INDEX IF NOT EXISTS definitions_active ON definitions (org_id, active_product);

CREATE UNIQUE INDEX IF NOT EXISTS definitions_version ON definitions (org_id, kind, line, version);

CREATE TABLE IF NOT EXISTS revisions (
  id uuid NOT NULL PRIMARY KEY,
  definition_id uuid NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  changed_by text COLLATE "C" NOT NULL,
  diff bytea,
  reason text COLLATE "C" NOT NULL,
  created_at bigint
);

CREATE INDEX IF NOT EXISTS revisions_definition ON revisions (definition_id, id);

CREATE TABLE IF NOT EXISTS snapshots (
  hash text COLLATE "C" NOT NULL PRIMARY KEY,
  body bytea NOT NULL
);
