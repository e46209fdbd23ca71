CREATE TABLE IF NOT EXISTS cases (
  org_id VARBINARY(255) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  PRIMARY KEY (org_id, case_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS instances (
  id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  product_id VARBINARY(255) NOT NULL,
  started_at BIGINT,
  definition_id BINARY(16) NOT NULL,
  snapshot_hash VARBINARY(255) NOT NULL,
  mode VARBINARY(255) NOT NULL,
  status VARBINARY(255) NOT NULL,
  halt_reason VARBINARY(255) NOT NULL,
  halt_note MEDIUMBLOB NOT NULL,
  halt_step_id VARBINARY(255) NOT NULL,
  cancelled_by VARBINARY(255) NOT NULL,
  cancelled_reason MEDIUMBLOB NOT NULL,
  deadline_exceeded TINYINT NOT NULL,
  supersedes_id BINARY(16),
  superseded_by_id BINARY(16),
  deadline_at BIGINT,
  completed_at BIGINT,
  wake_at BIGINT,
  step_ids MEDIUMBLOB NOT NULL,
  version BIGINT NOT NULL,
  previous BIGINT NOT NULL DEFAULT 0,
  machine MEDIUMBLOB NOT NULL,
  context MEDIUMBLOB NOT NULL,
  live TINYINT GENERATED ALWAYS AS (CASE WHEN status <> 'cancelled' THEN 1 END) VIRTUAL,
  PRIMARY KEY (id),
  UNIQUE KEY instances_case (org_id, case_id, live),
  KEY instances_list (status, org_id, id),
  KEY instances_wake (wake_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
