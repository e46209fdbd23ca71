CREATE TABLE IF NOT EXISTS log_head (
  id    INTEGER PRIMARY KEY,
  seq   INTEGER NOT NULL,
  joins INTEGER NOT NULL
) STRICT;

INSERT INTO log_head (id, seq, joins) VALUES (1, 0, 0) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS log_entries (
  seq         INTEGER PRIMARY KEY,
  stream      TEXT    NOT NULL,
  org_id      TEXT    NOT NULL,
  event_id    BLOB    NOT NULL,
  instance_id BLOB,
  envelope    BLOB,
  created_at  INTEGER,
  relayed     INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS log_groups (
  grp         TEXT    NOT NULL PRIMARY KEY,
  owner       TEXT    NOT NULL,
  fence       INTEGER NOT NULL,
  lease_until INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS log_positions (
  grp      TEXT    NOT NULL,
  stream   TEXT    NOT NULL,
  position INTEGER NOT NULL,
  acked    TEXT    NOT NULL,
  PRIMARY KEY (grp, stream)
) STRICT, WITHOUT ROWID;
