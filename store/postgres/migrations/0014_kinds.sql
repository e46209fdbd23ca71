ALTER TABLE definitions
  ADD COLUMN IF NOT EXISTS semver text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS active_name text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN org_id <> '' AND kind <> 'case' AND status = 'active' THEN name END) STORED;

CREATE UNIQUE INDEX IF NOT EXISTS definitions_active_name ON definitions (org_id, kind, active_name, semver);

ALTER TABLE step_kinds
  ADD COLUMN IF NOT EXISTS created_by text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS created_at bigint;
