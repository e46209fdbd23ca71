CREATE TABLE IF NOT EXISTS jobs (
  id            BLOB    NOT NULL PRIMARY KEY,
  org_id        TEXT    NOT NULL,
  action        TEXT    NOT NULL,
  params        BLOB,
  selection     BLOB,
  status        TEXT    NOT NULL,
  total         INTEGER NOT NULL,
  applied       INTEGER NOT NULL,
  refused       INTEGER NOT NULL,
  failed        INTEGER NOT NULL,
  created_by    TEXT    NOT NULL,
  created_at    INTEGER,
  finished_at   INTEGER,
  claimed_until INTEGER
) STRICT;

CREATE INDEX IF NOT EXISTS jobs_org ON jobs (org_id, id);

CREATE INDEX IF NOT EXISTS jobs_status ON jobs (status, id);

CREATE TABLE IF NOT EXISTS job_items (
  job_id      BLOB NOT NULL,
  instance_id BLOB NOT NULL,
  org_id      TEXT NOT NULL,
  case_id     TEXT NOT NULL,
  PRIMARY KEY (job_id, instance_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS job_results (
  job_id      BLOB NOT NULL,
  instance_id BLOB NOT NULL,
  org_id      TEXT NOT NULL,
  outcome     TEXT NOT NULL,
  detail      TEXT NOT NULL,
  done_at     INTEGER,
  PRIMARY KEY (job_id, instance_id)
) STRICT, WITHOUT ROWID;
