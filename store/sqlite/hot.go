package sqlite

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// hotLimit bounds the instances kept in memory.
const hotLimit = 8192

// hot keeps the instances that this process wrote last, so that the next event
// of a case need not read it back. It is exact, not a guess: the writing
// connection's data_version, read under the write lock, changes whenever anyone
// else has written to the file, and then everything is forgotten; so it is after
// every write of this process that does not go through Update. It belongs to
// whoever has the writer's turn. Instances in it are never changed.
type hot struct {
	version   int64
	instances map[rondo.CaseKey]*rondo.Instance
}

// at forgets everything if the file is not at the version it was left at.
func (h *hot) at(version int64) {
	if version != h.version {
		h.forget()
		h.version = version
	}
}

func (h *hot) forget() { clear(h.instances) }

func (h *hot) get(key rondo.CaseKey) *rondo.Instance { return h.instances[key] }

// keep remembers what a committed write left behind. A case with parked events,
// be they of this write or from before, or one that has ended, is read from the
// file next time.
func (h *hot) keep(loaded *store.Loaded, write *store.Write) {
	for _, w := range write.Instances {
		if key := w.Instance.Key(); w.Instance.Status.Terminal() || len(loaded.Cases[key].Parked) > 0 {
			delete(h.instances, key)
			continue
		}
		h.put(w.Instance)
	}
	for _, list := range [][]rondo.EventRecord{write.Events, write.Rejudged} {
		for i := range list {
			if e := &list[i]; e.Outcome == rondo.OutcomeParked {
				delete(h.instances, rondo.CaseKey{OrgID: e.OrgID, CaseID: e.CaseID})
			}
		}
	}
}

func (h *hot) put(i *rondo.Instance) {
	if h.instances == nil {
		h.instances = make(map[rondo.CaseKey]*rondo.Instance)
	}
	if len(h.instances) >= hotLimit {
		for key := range h.instances { // any one will do
			delete(h.instances, key)
			break
		}
	}
	h.instances[i.Key()] = i
}
