CREATE TABLE IF NOT EXISTS conversations (
  id           TEXT    NOT NULL PRIMARY KEY,
  tenant_id    TEXT    NOT NULL,
  user_id      TEXT    NOT NULL,
  version      INTEGER NOT NULL,
  messages     INTEGER NOT NULL,
  lease_token  TEXT    NOT NULL,
  lease_until  INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  sweep_at     INTEGER NOT NULL,
  attention_at INTEGER,
  updated_at   INTEGER NOT NULL,
  record       BLOB    NOT NULL,
  state        BLOB    NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS conversations_owner ON conversations (tenant_id, user_id, updated_at, id);

CREATE INDEX IF NOT EXISTS conversations_sweep ON conversations (sweep_at);

CREATE INDEX IF NOT EXISTS conversations_attention ON conversations (attention_at, id) WHERE attention_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS conversation_messages (
  conversation_id TEXT    NOT NULL,
  number          INTEGER NOT NULL,
  body            BLOB    NOT NULL,
  PRIMARY KEY (conversation_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS conversation_turns (
  conversation_id TEXT    NOT NULL,
  number          INTEGER NOT NULL,
  record          BLOB    NOT NULL,
  response        BLOB,
  PRIMARY KEY (conversation_id, number)
) STRICT;

CREATE TABLE IF NOT EXISTS conversation_cards (
  conversation_id TEXT    NOT NULL,
  card_id         TEXT    NOT NULL,
  issued          INTEGER NOT NULL,
  digest          TEXT    NOT NULL,
  turn            INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, card_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS conversation_keys (
  id              BLOB    NOT NULL PRIMARY KEY,
  conversation_id TEXT    NOT NULL,
  token           TEXT    NOT NULL,
  fingerprint     TEXT    NOT NULL,
  status          INTEGER NOT NULL,
  body            BLOB,
  expires_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS conversation_keys_conversation ON conversation_keys (conversation_id);

CREATE INDEX IF NOT EXISTS conversation_keys_expiry ON conversation_keys (expires_at);
