-- Content of artifacts that went, until its bytes are removed; since is 0 until a
-- sweep has met it.
CREATE TABLE IF NOT EXISTS loose_blobs (
  content_hash bytea  NOT NULL PRIMARY KEY,
  since        bigint NOT NULL
);
