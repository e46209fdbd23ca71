// Package sqlstore is what the SQL drivers share: the tables, the rows that a
// store.Write becomes, how rows become values again, and every call of the port
// that is not on the write path of cases.
//
// A driver (sqlite, postgres, mysql) gives it a Dialect, the few words that
// databases spell differently, and a Runner, its connections. The write path is
// split: NewPlan says what must be written, the driver says how, because that is
// where databases want opposite things (one-row prepared statements, arrays, or
// one packet of text).
//
// # Layout
//
//   - Ids are 16 bytes (BLOB, uuid, BINARY(16)); external strings compare
//     bytewise; times are integer microseconds since 1970 UTC, NULL = none; JSON
//     documents are opaque bytes.
//   - An instance is one row: open attempts live in its machine document. A step
//     row is written once, when its attempt ends.
//   - instances.live is 1 unless the instance is cancelled, then NULL, so that
//     one unique index both finds the instances of a case and forbids a second
//     live one.
//   - instances.token is a random number of the commit that wrote the row; see
//     Recent.
//   - The index for lists begins with the status and not with the org: a planner
//     that knows nothing yet of the data can then find the instances of a case by
//     one index only, the right one. It also has the columns that lists are filtered
//     by and that stay while a case goes from step to step, so that rows which do not
//     match are not read; only a filter by live step looks at the rows themselves.
//   - parked names the ledger rows that wait for their case: a side table, so
//     that ordinary events pay for no index of it. loose_events does the same for
//     what people look for in the ledger, attributes for what they search by.
//   - cases holds the lock row of a case on MariaDB.
//   - A conversation is one row with its documents; messages, turns and cards are
//     rows of their own that a turn only adds to. conversations.sweep_at is never
//     later than expires_at and does not follow it: turns, which all push the
//     expiry back, then change no index of it, and the sweeper that meets a
//     conversation too early moves the mark.
//   - conversation_keys.id is a digest of the key and its scope.
//   - A run is one row, of which a commit that only goes on changes no indexed
//     column. run_steps has a row per attempt, by run and step, and no other index.
//   - flights are who computes what: few rows, apart from step_cache, which has the
//     results. Its rows are written whole and indexed by key and in the order in
//     which they come. That index begins with the workflow and not with the tenant,
//     so that a planner that knows nothing yet finds keys by one index only. Steps
//     are not indexed by key: finding the users of an entry walks the runs of its
//     workflow.
//   - artifact_uses says which runs and entries refer to an artifact, for steps that
//     have any.
//   - events.type is not indexed: only the first group that ever joins a stream
//     of the embedded bus looks for it.
//
// It imports the root package, the port and database/sql, and starts no
// goroutine.
package sqlstore
