-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @rondo_change = IF(
  (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'definitions' AND column_name = 'semver') = 0,
  'ALTER TABLE definitions ADD COLUMN semver VARBINARY(255) NOT NULL DEFAULT '''', ADD COLUMN active_name VARBINARY(1024) GENERATED ALWAYS AS (CASE WHEN org_id <> '''' AND kind <> ''case'' AND status = ''active'' THEN name END) VIRTUAL, ADD UNIQUE KEY definitions_active_name (org_id, kind, active_name, semver)',
  'DO 0');

PREPARE rondo_change FROM @rondo_change;

EXECUTE rondo_change;

DEALLOCATE PREPARE rondo_change;

SET @rondo_change = IF(
  (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'step_kinds' AND column_name = 'created_by') = 0,
  'ALTER TABLE step_kinds ADD COLUMN created_by VARBINARY(255) NOT NULL DEFAULT '''', ADD COLUMN created_at BIGINT',
  'DO 0');

PREPARE rondo_change FROM @rondo_change;

EXECUTE rondo_change;

DEALLOCATE PREPARE rondo_change;
