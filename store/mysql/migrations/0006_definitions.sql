CREATE TABLE IF NOT EXISTS definitions (
  id BINARY(16) NOT NULL PRIMARY KEY,
  org_id VARBINARY(255) NOT NULL,
  product_id VARBINARY(255) NOT NULL,
  kind VARBINARY(255) NOT NULL,
  name VARBINARY(1024) NOT NULL,
  version BIGINT NOT NULL,
  line VARBINARY(1024) NOT NULL,
  is_template TINYINT NOT NULL,
  status VARBINARY(255) NOT NULL,
  default_mode VARBINARY(255) NOT NULL,
  body MEDIUMBLOB,
  workflow_timeout BIGINT NOT NULL,
  snapshot_hash VARBINARY(255) NOT NULL,
  revision BIGINT NOT NULL,
  created_by VARBINARY(255) NOT NULL,
  created_at BIGINT,
  updated_at BIGINT,
  published_at BIGINT,
  active_product VARBINARY(255) GENERATED ALWAYS AS (CASE WHEN org_id <> '' AND kind = 'case' AND status = 'active' THEN product_id END) VIRTUAL,
  UNIQUE KEY definitions_active (org_id, active_product),
  UNIQUE KEY definitions_version (org_id, kind, line, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS revisions (
  id BINARY(16) NOT NULL PRIMARY KEY,
  definition_id BINARY(16) NOT NULL,
  org_id VARBINARY(255) NOT NULL,
  changed_by VARBINARY(255) NOT NULL,
  diff MEDIUMBLOB,
  reason MEDIUMBLOB NOT NULL,
  created_at BIGINT,
  KEY revisions_definition (definition_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS snapshots (
  hash VARBINARY(255) NOT NULL PRIMARY KEY,
  body MEDIUMBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
