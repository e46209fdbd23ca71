-- MySQL has no ADD KEY IF NOT EXISTS. One statement changes all keys or none.
SET @rondo_change = IF(
  (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'instances' AND index_name = 'instances_listed') = 0,
  'ALTER TABLE instances DROP KEY instances_list, DROP KEY instances_wake, ADD KEY instances_listed (status, org_id, id, mode, product_id, definition_id, started_at, halt_reason), ADD KEY instances_ended (status, org_id, completed_at), ADD KEY instances_wake (wake_at, status)',
  'DO 0');

PREPARE rondo_change FROM @rondo_change;

EXECUTE rondo_change;

DEALLOCATE PREPARE rondo_change;
