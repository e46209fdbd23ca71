ALTER TABLE definitions ADD COLUMN semver TEXT NOT NULL DEFAULT '';

ALTER TABLE definitions ADD COLUMN active_name TEXT GENERATED ALWAYS AS (CASE WHEN org_id <> '' AND kind <> 'case' AND status = 'active' THEN name END) VIRTUAL;

CREATE UNIQUE INDEX IF NOT EXISTS definitions_active_name ON definitions (org_id, kind, active_name, semver);

ALTER TABLE step_kinds ADD COLUMN created_by TEXT NOT NULL DEFAULT '';

ALTER TABLE step_kinds ADD COLUMN created_at INTEGER;
