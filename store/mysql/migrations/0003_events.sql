CREATE TABLE IF NOT EXISTS events (
  seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  event_id BINARY(16) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  instance_id BINARY(16),
  type VARBINARY(255) NOT NULL,
  received_at BIGINT,
  processed TINYINT NOT NULL,
  outcome VARBINARY(255) NOT NULL,
  duplicates BIGINT NOT NULL,
  verdict VARBINARY(255) NOT NULL,
  error MEDIUMBLOB NOT NULL,
  envelope MEDIUMBLOB,
  UNIQUE KEY events_key (org_id, event_id),
  KEY events_instance (instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS parked (
  org_id VARBINARY(255) NOT NULL,
  case_id VARBINARY(255) NOT NULL,
  event_id BINARY(16) NOT NULL,
  PRIMARY KEY (org_id, case_id, event_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
