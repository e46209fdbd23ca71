-- Cases are held by advisory locks, not by rows.
DROP TABLE IF EXISTS cases;

CREATE TABLE IF NOT EXISTS conversations (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  messages bigint NOT NULL,
  lease_token text COLLATE "C" NOT NULL,
  lease_until bigint NOT NULL,
  expires_at bigint NOT NULL,
  sweep_at bigint NOT NULL,
  attention_at bigint,
  updated_at bigint NOT NULL,
  record bytea NOT NULL,
  state bytea NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS conversations_owner ON conversations (tenant_id, user_id, updated_at, id);

CREATE INDEX IF NOT EXISTS conversations_sweep ON conversations (sweep_at);

CREATE INDEX IF NOT EXISTS conversations_attention ON conversations (attention_at, id) WHERE attention_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS conversation_messages (
  conversation_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (conversation_id, number)
);

CREATE TABLE IF NOT EXISTS conversation_turns (
  conversation_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  record bytea NOT NULL,
  response bytea,
  PRIMARY KEY (conversation_id, number)
);

CREATE TABLE IF NOT EXISTS conversation_cards (
  conversation_id text COLLATE "C" NOT NULL,
  card_id text COLLATE "C" NOT NULL,
  issued bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY (conversation_id, card_id)
);

CREATE TABLE IF NOT EXISTS conversation_keys (
  id bytea NOT NULL PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  token text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  body bytea,
  expires_at bigint NOT NULL
);

CREATE INDEX IF NOT EXISTS conversation_keys_conversation ON conversation_keys (conversation_id);

CREATE INDEX IF NOT EXISTS conversation_keys_expiry ON conversation_keys (expires_at);
