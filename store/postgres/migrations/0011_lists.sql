DROP INDEX IF EXISTS instances_list;

CREATE INDEX IF NOT EXISTS instances_listed ON instances (status, org_id, id, mode, product_id, definition_id, started_at, halt_reason);

CREATE INDEX IF NOT EXISTS instances_ended ON instances (status, org_id, completed_at) WHERE completed_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS instances_unarmed ON instances (id) WHERE wake_at IS NULL AND (status = 'running' OR (status = 'halted' AND deadline_exceeded = 0));
