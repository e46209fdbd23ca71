-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @rondo_change = IF(
  (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instances' AND column_name = 'token') = 0,
  'ALTER TABLE instances ADD COLUMN token BIGINT NOT NULL DEFAULT 0',
  'DO 0');

PREPARE rondo_change FROM @rondo_change;

EXECUTE rondo_change;

DEALLOCATE PREPARE rondo_change;
