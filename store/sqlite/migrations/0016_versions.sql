CREATE TABLE IF NOT EXISTS versions_left (
  org_id  TEXT    NOT NULL,
  kind    TEXT    NOT NULL,
  line    TEXT    NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (org_id, kind, line, version)
) STRICT, WITHOUT ROWID;
