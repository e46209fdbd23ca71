package store

import (
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
)

// ArchiveReplaced returns what becomes of the definition that was active when
// another one of its line is published, and the revision that records it. The
// revision's id has the time of the publishing revision's and is the same
// whenever a driver computes it again.
func ArchiveReplaced(previous, published rondo.Definition, rev rondo.DefinitionRevision) (rondo.Definition, rondo.DefinitionRevision) {
	archived := previous
	archived.Status = rondo.DefinitionArchived
	archived.UpdatedAt = published.UpdatedAt
	archived.Revision++

	id := rev.ID
	for i := 9; i < len(id); i++ { // the random part: version and variant bits stay
		id[i] ^= previous.ID[i]
	}
	return archived, rondo.DefinitionRevision{
		ID:           id,
		DefinitionID: previous.ID,
		OrgID:        previous.OrgID,
		ChangedBy:    rev.ChangedBy,
		Diff: json.RawMessage(`{"before":{"status":"active"},"after":{"status":"archived"},` +
			`"patch":[{"op":"replace","path":"/status","value":"archived"}]}`),
		Reason:    fmt.Sprintf("replaced by version %d", published.Version),
		CreatedAt: rev.CreatedAt,
	}
}
