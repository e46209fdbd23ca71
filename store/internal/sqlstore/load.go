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
