CREATE TABLE IF NOT EXISTS steps (
  instance_id BINARY(16) NOT NULL,
  step_id VARBINARY(255) NOT NULL,
  attempt BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  kind VARBINARY(255) NOT NULL,
  status VARBINARY(255) NOT NULL,
  seq BIGINT NOT NULL,
  started_at BIGINT,
  completed_at BIGINT,
  timeout_at BIGINT,
  correlation_id VARBINARY(255) NOT NULL,
  outcome VARBINARY(255) NOT NULL,
  input MEDIUMBLOB,
  output MEDIUMBLOB,
  error MEDIUMBLOB,
  PRIMARY KEY (instance_id, step_id, attempt)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
