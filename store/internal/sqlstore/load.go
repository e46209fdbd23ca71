package sqlstore

import (
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// ReadSeen takes case_id and outcome of events.
func ReadSeen(values []any) (store.SeenEvent, error) {
	r := reader{values: values}
	seen := store.SeenEvent{CaseID: r.text(), Outcome: rondo.Outcome(r.text())}
	return seen, wrapRead("seen event", r.err)
}

// ReadActive takes id and snapshot_hash of definitions.
func ReadActive(values []any) (store.ActiveDefinition, error) {
	r := reader{values: values}
	active := store.ActiveDefinition{DefinitionID: r.id(), SnapshotHash: r.text()}
	return active, wrapRead("active definition", r.err)
}

// ReadLogState takes joins and seq of log_head.
func ReadLogState(values []any) (joins, head int64, err error) {
	r := reader{values: values}
	joins, head = r.int(), r.int()
	return joins, head, wrapRead("log head", r.err)
}

// Streams remembers which streams have a group. What it remembers holds as long
// as log_head.joins is what it was. It is safe for concurrent use.
type Streams struct {
	mu     sync.Mutex
	known  bool
	joins  int64
	listed map[string]bool
}

// Get returns the streams as of joins, reading them when they are not known.
func (s *Streams) Get(joins int64, read func() ([]string, error)) (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known && s.joins == joins {
		return s.listed, nil
	}
	streams, err := read()
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool, len(streams))
	for _, stream := range streams {
		listed[stream] = true
	}
	s.known, s.joins, s.listed = true, joins, listed
	return listed, nil
}

// Forget makes the next Current read again.
func (s *Streams) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
}

// Current returns what is remembered, reading it when nothing is. The caller
// must make sure at commit that joins still holds.
func (s *Streams) Current(read func() (joins int64, streams []string, err error)) (int64, map[string]bool, error) {
	s.mu.Lock()
	known, joins, listed := s.known, s.joins, s.listed
	s.mu.Unlock()
	if known {
		return joins, listed, nil
	}
	joins, streams, err := read()
	if err != nil {
		return 0, nil, err
	}
	listed, err = s.Get(joins, func() ([]string, error) { return streams, nil })
	return joins, listed, err
}

// KeepSeen takes case_id, outcome, org_id and event_id of events.
func KeepSeen(loaded *store.Loaded, values []any) error {
	r := reader{values: values}
	seen := store.SeenEvent{CaseID: r.text(), Outcome: rondo.Outcome(r.text())}
	key := rondo.EventKey{OrgID: r.text(), EventID: r.id()}
	loaded.Seen[key] = seen
	return wrapRead("seen event", r.err)
}

// Actives are active definitions by exactly what they are active for.
type Actives map[store.StartKey]store.ActiveDefinition

// Add takes id, snapshot_hash, org_id and active_product of definitions.
func (a Actives) Add(values []any) error {
	r := reader{values: values}
	active := store.ActiveDefinition{DefinitionID: r.id(), SnapshotHash: r.text()}
	a[store.StartKey{OrgID: r.text(), ProductID: r.text()}] = active
	return wrapRead("active definition", r.err)
}

// Keep answers the starts that were asked for: the product's own definition,
// else the one for every product.
func (a Actives) Keep(loaded *store.Loaded, keys []store.StartKey) {
	for _, key := range keys {
		active, ok := a[key]
		if !ok {
			active, ok = a[store.StartKey{OrgID: key.OrgID}]
		}
		if ok {
			loaded.Active[key] = active
		}
	}
}
