CREATE TABLE IF NOT EXISTS definitions (
  id               BLOB    NOT NULL PRIMARY KEY,
  org_id           TEXT    NOT NULL,
  product_id       TEXT    NOT NULL,
  kind             TEXT    NOT NULL,
  name             TEXT    NOT NULL,
  version          INTEGER NOT NULL,
  line             TEXT    NOT NULL,
  is_template      INTEGER NOT NULL,
  status           TEXT    NOT NULL,
  default_mode     TEXT    NOT NULL,
  body             BLOB,
  workflow_timeout INTEGER NOT NULL,
  snapshot_hash    TEXT    NOT NULL,
  revision         INTEGER NOT NULL,
  created_by       TEXT    NOT NULL,
  created_at       INTEGER,
  updated_at       INTEGER,
  published_at     INTEGER,
  active_product   TEXT GENERATED ALWAYS AS (CASE WHEN org_id <> '' AND kind = 'case' AND status = 'active' THEN product_id END) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX IF NOT EXISTS definitions_active ON definitions (org_id, active_product);

CREATE UNIQUE INDEX IF NOT EXISTS definitions_version ON definitions (org_id, kind, line, version);

CREATE TABLE IF NOT EXISTS revisions (
  id            BLOB NOT NULL PRIMARY KEY,
  definition_id BLOB NOT NULL,
  org_id        TEXT NOT NULL,
  changed_by    TEXT NOT NULL,
  diff          BLOB,
  reason        TEXT NOT NULL,
  created_at    INTEGER
) STRICT;

CREATE INDEX IF NOT EXISTS revisions_definition ON revisions (definition_id, id);

CREATE TABLE IF NOT EXISTS snapshots (
  hash TEXT NOT NULL PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;
