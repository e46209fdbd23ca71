CREATE TABLE IF NOT EXISTS reason_codes (
  org_id        TEXT    NOT NULL,
  scope         TEXT    NOT NULL,
  code          TEXT    NOT NULL,
  id            BLOB    NOT NULL,
  label         TEXT    NOT NULL,
  description   TEXT    NOT NULL,
  requires_note INTEGER NOT NULL,
  step_kinds    BLOB,
  active        INTEGER NOT NULL,
  PRIMARY KEY (org_id, scope, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS step_kinds (
  org_id   TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  contract BLOB,
  status   TEXT    NOT NULL,
  PRIMARY KEY (org_id, name, version)
) STRICT;
