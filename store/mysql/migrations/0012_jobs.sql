CREATE TABLE IF NOT EXISTS jobs (
  id BINARY(16) NOT NULL PRIMARY KEY,
  org_id VARBINARY(255) NOT NULL,
  action VARBINARY(255) NOT NULL,
  params MEDIUMBLOB,
  selection MEDIUMBLOB,
  status VARBINARY(255) NOT NULL,
  total BIGINT NOT NULL,
  applied BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  created_by VARBINARY(255) NOT NULL,
  created_at BIGINT,
  finished_at BIGINT,
  claimed_until BIGINT,
  KEY jobs_org (org_id, id),
  KEY jobs_status (status, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS job_items (
  job_id BINARY(16) NOT NULL,
  instance_id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  PRIMARY KEY (job_id, instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS job_results (
  job_id BINARY(16) NOT NULL,
  instance_id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  outcome VARBINARY(255) NOT NULL,
  detail MEDIUMBLOB NOT NULL,
  done_at BIGINT,
  PRIMARY KEY (job_id, instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
