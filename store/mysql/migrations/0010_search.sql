CREATE TABLE IF NOT EXISTS attributes (
  instance_id BINARY(16) NOT NULL,
  path VARBINARY(1024) NOT NULL,
  value VARBINARY(255) NOT NULL,
  number DOUBLE,
  org_id VARBINARY(255) NOT NULL,
  PRIMARY KEY (instance_id, path, value),
  KEY attributes_value (org_id, path, value, instance_id),
  KEY attributes_number (org_id, path, number, instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS loose_events (
  org_id VARBINARY(255) NOT NULL,
  event_id BINARY(16) NOT NULL,
  id BINARY(16) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  outcome VARBINARY(255) NOT NULL,
  type VARBINARY(255) NOT NULL,
  PRIMARY KEY (org_id, event_id),
  KEY loose_events_outcome (org_id, outcome, id),
  KEY loose_events_case (org_id, case_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

INSERT INTO loose_events (org_id, event_id, id, case_id, outcome, type)
  SELECT e.org_id, e.event_id, e.id, e.case_id, e.outcome, e.type FROM events e
  WHERE e.instance_id IS NULL OR e.outcome IN ('parked', 'unmatched', 'rejected')
  ON DUPLICATE KEY UPDATE org_id = VALUES(org_id);

CREATE TABLE IF NOT EXISTS retention_policies (
  org_id VARBINARY(255) NOT NULL PRIMARY KEY,
  keep_finished BIGINT NOT NULL,
  reason MEDIUMBLOB NOT NULL,
  updated_by VARBINARY(255) NOT NULL,
  updated_at BIGINT
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
