CREATE TABLE IF NOT EXISTS run_owners (
  owner VARBINARY(255) NOT NULL PRIMARY KEY,
  alive_until BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS runs (
  id BINARY(16) NOT NULL PRIMARY KEY,
  tenant_id VARBINARY(255) NOT NULL,
  workflow VARBINARY(255) NOT NULL,
  trigger_type VARBINARY(255) NOT NULL,
  base_id BINARY(16),
  created_at BIGINT NOT NULL,
  status VARBINARY(255) NOT NULL,
  owner VARBINARY(255) NOT NULL,
  live BIGINT,
  fence BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  total_steps BIGINT NOT NULL,
  started_at BIGINT,
  completed_at BIGINT,
  error MEDIUMBLOB,
  record MEDIUMBLOB NOT NULL,
  payload MEDIUMBLOB,
  KEY runs_tenant (tenant_id, id),
  KEY runs_status (tenant_id, status, id),
  KEY runs_workflow (tenant_id, workflow, id),
  KEY runs_base (base_id, id),
  KEY runs_owner (live, owner, id),
  KEY runs_ended (tenant_id, live, completed_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS run_steps (
  run_id BINARY(16) NOT NULL,
  step_id VARBINARY(255) NOT NULL,
  attempt BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  status VARBINARY(255) NOT NULL,
  skill VARBINARY(255) NOT NULL,
  input_hash VARBINARY(255),
  cache_key VARBINARY(255),
  output_hash VARBINARY(255),
  reason VARBINARY(255) NOT NULL,
  reason_detail MEDIUMBLOB,
  cache_hit BIGINT NOT NULL,
  correlation BINARY(16),
  started_at BIGINT,
  completed_at BIGINT,
  source_run_id BINARY(16),
  artifacts MEDIUMBLOB,
  extra MEDIUMBLOB,
  manifest MEDIUMBLOB,
  data MEDIUMBLOB,
  debug MEDIUMBLOB,
  PRIMARY KEY (run_id, step_id, attempt)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS flights (
  tenant_id VARBINARY(255) NOT NULL,
  name VARBINARY(255) NOT NULL,
  owner VARBINARY(255) NOT NULL,
  fence BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS step_cache (
  nr BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  tenant_id VARBINARY(255) NOT NULL,
  name VARBINARY(255) NOT NULL,
  fence BIGINT NOT NULL,
  workflow VARBINARY(255) NOT NULL,
  step_id VARBINARY(255) NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL,
  expires_at BIGINT,
  size BIGINT NOT NULL,
  tainted MEDIUMBLOB,
  input_hash VARBINARY(255),
  output_hash VARBINARY(255),
  run_id BINARY(16),
  class VARBINARY(255) NOT NULL,
  duration_ms BIGINT NOT NULL,
  cost DOUBLE NOT NULL,
  artifacts MEDIUMBLOB,
  manifest MEDIUMBLOB,
  data MEDIUMBLOB,
  UNIQUE KEY step_cache_name (tenant_id, name),
  KEY step_cache_entries (workflow, tenant_id, created_at, step_id, name, last_used_at, expires_at, size)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS artifacts (
  id BINARY(16) NOT NULL PRIMARY KEY,
  tenant_id VARBINARY(255) NOT NULL,
  content_hash VARBINARY(255),
  record MEDIUMBLOB NOT NULL,
  KEY artifacts_content (content_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS artifact_uses (
  artifact_id BINARY(16) NOT NULL,
  used_by VARBINARY(255) NOT NULL,
  PRIMARY KEY (artifact_id, used_by),
  KEY artifact_uses_user (used_by)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS run_signals (
  id BINARY(16) NOT NULL PRIMARY KEY,
  run_id BINARY(16) NOT NULL,
  kind VARBINARY(255) NOT NULL,
  body MEDIUMBLOB,
  signal_at BIGINT NOT NULL,
  KEY run_signals_run (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS run_raised (
  event_id VARBINARY(255) NOT NULL PRIMARY KEY,
  tenant_id VARBINARY(255) NOT NULL,
  run_id BINARY(16) NOT NULL,
  occurred_at BIGINT NOT NULL,
  record MEDIUMBLOB NOT NULL,
  KEY run_raised_order (occurred_at, event_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
