package sqlstore

import (
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Recent keeps the documents of instances that this process wrote last, so that
// the next batch need not fetch and decode them again. It is exact, not a guess:
// the database still says which instance a case has, at which version and when it
// wakes, and only leaves out the documents that exactly the remembered commit
// wrote, which never change. It is safe for concurrent use; instances in it are
// never changed.
type Recent struct {
	mu        sync.Mutex
	instances map[rondo.CaseKey]Held
}

// Held is an instance and the token of the commit that wrote it; see Plan. The
// zero value is none.
type Held struct {
	*rondo.Instance
	Token int64
}

// recentLimit bounds the instances kept.
const recentLimit = 8192

// Held are the instances that a load need not fetch whole, in the order of its
// keys.
func (r *Recent) Held(keys []rondo.CaseKey) []Held {
	held := make([]Held, len(keys))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, key := range keys {
		held[i] = r.instances[key]
	}
	return held
}

// Forget empties it.
func (r *Recent) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.instances)
}

// Keep remembers what a committed write left behind, under its token. One that has ended will
// hardly be asked for again.
func (r *Recent) Keep(write *store.Write, token int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instances == nil {
		r.instances = map[rondo.CaseKey]Held{}
	}
	for _, w := range write.Instances {
		key := w.Instance.Key()
		if w.Instance.Status.Terminal() {
			delete(r.instances, key)
			continue
		}
		if len(r.instances) >= recentLimit {
			for other := range r.instances { // any one will do
				delete(r.instances, other)
				break
			}
		}
		r.instances[key] = Held{w.Instance, token}
	}
}

// HeldColumns are the columns of instances, as Names gives them, with NULL for
// the documents of an instance for which held, a condition, is true.
func HeldColumns(t *Table, prefix, held string) string {
	names := Table{Columns: make([]Column, len(t.Columns))}
	for i, c := range t.Columns {
		names.Columns[i].Name = prefix + c.Name
		if c.Name == "machine" || c.Name == "context" {
			names.Columns[i].Name = "CASE WHEN " + held + " THEN NULL ELSE " + prefix + c.Name + " END"
		}
	}
	return names.Names("")
}
