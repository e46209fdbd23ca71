-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @rondo_change = IF(
  (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'dead_letters' AND column_name = 'status') = 0,
  'ALTER TABLE dead_letters ADD COLUMN status VARBINARY(255) NOT NULL DEFAULT ''open'', ADD COLUMN settled_by VARBINARY(255) NOT NULL DEFAULT '''', ADD COLUMN note MEDIUMBLOB NOT NULL, ADD COLUMN settled_at BIGINT',
  'DO 0');

PREPARE rondo_change FROM @rondo_change;

EXECUTE rondo_change;

DEALLOCATE PREPARE rondo_change;
