CREATE TABLE IF NOT EXISTS answers (
  org_id VARBINARY(255) NOT NULL,
  name VARBINARY(255) NOT NULL,
  request VARBINARY(255) NOT NULL,
  status BIGINT NOT NULL,
  header MEDIUMBLOB,
  body MEDIUMBLOB,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, name),
  KEY answers_age (created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
