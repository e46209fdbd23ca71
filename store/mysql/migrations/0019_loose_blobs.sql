-- Content of artifacts that went, until its bytes are removed; since is 0 until a
-- sweep has met it.
CREATE TABLE IF NOT EXISTS loose_blobs (
  content_hash VARBINARY(255) NOT NULL PRIMARY KEY,
  since BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary ROW_FORMAT = DYNAMIC;
