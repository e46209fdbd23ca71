package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// checkSearchable refuses a search that cannot find anything because no
// definition declares its path as searchable. It is asked only when nothing was
// found, so that searches that work pay nothing for it.
func (e *Engine) checkSearchable(ctx context.Context, org string, tests []store.AttributeTest) error {
	declared := map[string]bool{rondo.TagPath: true}
	for _, status := range []rondo.DefinitionStatus{rondo.DefinitionActive, rondo.DefinitionArchived} {
		published, err := e.store.DefinitionList(ctx, store.DefinitionFilter{OrgID: org, Kind: rondo.KindCase, Status: status}, store.Page{Limit: searchedDefinitions})
		if err != nil {
			return rondo.Op("list definitions", err)
		}
		if len(published) == searchedDefinitions {
			return nil // an older one may declare it
		}
		for i := range published {
			if published[i].SnapshotHash == "" { // a draft that was discarded
				continue
			}
			snapshot, err := e.snapshots.Get(ctx, published[i].SnapshotHash)
			if err != nil {
				return err
			}
			for _, path := range snapshot.Search {
				declared[path] = true
			}
		}
	}
	for _, test := range tests {
		if !declared[test.Path] {
			known := make([]string, 0, len(declared))
			for path := range declared {
				known = append(known, path)
			}
			slices.Sort(known)
			return invalidField("query/where", "not_searchable",
				fmt.Sprintf("no published definition lists %s in its search member; searchable are %s", test.Path, strings.Join(known, ", ")))
		}
	}
	return nil
}

// searchedDefinitions bounds how many definitions are looked at.
const searchedDefinitions = 200
