CREATE TABLE IF NOT EXISTS conversations (
  id VARBINARY(255) NOT NULL PRIMARY KEY,
  tenant_id VARBINARY(255) NOT NULL,
  user_id VARBINARY(255) NOT NULL,
  version BIGINT NOT NULL,
  messages BIGINT NOT NULL,
  lease_token VARBINARY(255) NOT NULL,
  lease_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  sweep_at BIGINT NOT NULL,
  attention_at BIGINT,
  updated_at BIGINT NOT NULL,
  record MEDIUMBLOB NOT NULL,
  state MEDIUMBLOB NOT NULL,
  KEY conversations_owner (tenant_id, user_id, updated_at, id),
  KEY conversations_sweep (sweep_at),
  KEY conversations_attention (attention_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS conversation_messages (
  conversation_id VARBINARY(255) NOT NULL,
  number BIGINT NOT NULL,
  body MEDIUMBLOB NOT NULL,
  PRIMARY KEY (conversation_id, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS conversation_turns (
  conversation_id VARBINARY(255) NOT NULL,
  number BIGINT NOT NULL,
  record MEDIUMBLOB NOT NULL,
  response MEDIUMBLOB,
  PRIMARY KEY (conversation_id, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS conversation_cards (
  conversation_id VARBINARY(255) NOT NULL,
  card_id VARBINARY(255) NOT NULL,
  issued BIGINT NOT NULL,
  digest VARBINARY(255) NOT NULL,
  turn BIGINT NOT NULL,
  PRIMARY KEY (conversation_id, card_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS conversation_keys (
  id BINARY(32) NOT NULL PRIMARY KEY,
  conversation_id VARBINARY(255) NOT NULL,
  token VARBINARY(255) NOT NULL,
  fingerprint VARBINARY(255) NOT NULL,
  status BIGINT NOT NULL,
  body MEDIUMBLOB,
  expires_at BIGINT NOT NULL,
  KEY conversation_keys_conversation (conversation_id),
  KEY conversation_keys_expiry (expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
