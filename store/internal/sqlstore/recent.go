package sqlstore

import (
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Recent keeps the documents of instances that this process wrote last, so that
// the next batch need not fetch and decode them again. It is exact, not a guess:
// the database still says which instance a case has, at which version and when it
// wakes, and only leaves out the documents of exactly that version, which never
// change. It is safe for concurrent use; instances in it are never changed.
type Recent struct {
	mu        sync.Mutex
	instances map[rondo.CaseKey]*rondo.Instance
}

// recentLimit bounds the instances kept.
const recentLimit = 8192

// Held are the instances that a load need not fetch whole, in the order of its
// keys; nil where there is none.
func (r *Recent) Held(keys []rondo.CaseKey) []*rondo.Instance {
	held := make([]*rondo.Instance, len(keys))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, key := range keys {
		held[i] = r.instances[key]
	}
	return held
}

// Keep remembers what a committed write left behind. One that has ended will
// hardly be asked for again.
func (r *Recent) Keep(write *store.Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instances == nil {
		r.instances = map[rondo.CaseKey]*rondo.Instance{}
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
		r.instances[key] = w.Instance
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
