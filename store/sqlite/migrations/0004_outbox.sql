CREATE TABLE IF NOT EXISTS outbox (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  stream        TEXT    NOT NULL,
  org_id        TEXT    NOT NULL,
  event_id      BLOB    NOT NULL,
  instance_id   BLOB,
  envelope      BLOB,
  created_at    INTEGER,
  relayed       INTEGER NOT NULL,
  claimed_until INTEGER
) STRICT;
