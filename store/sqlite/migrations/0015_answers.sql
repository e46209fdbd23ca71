CREATE TABLE IF NOT EXISTS answers (
  org_id     TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  request    TEXT    NOT NULL,
  status     INTEGER NOT NULL,
  header     BLOB,
  body       BLOB,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) STRICT;

CREATE INDEX IF NOT EXISTS answers_age ON answers (created_at);
