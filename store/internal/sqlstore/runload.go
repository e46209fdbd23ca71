package sqlstore

import (
	"cmp"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// FlightKey names a flight as it is stored.
type FlightKey struct{ Tenant, Name string }

// RunsWanted is what must be read, and locked, before a commit of runs is decided,
// in the one order in which all commits lock.
type RunsWanted struct {
	Runs     []rondo.ID
	Flights  []FlightKey // taken off or landed
	Takeoffs []FlightKey // whose entries matter
}

// WantedBy names what a commit needs.
func WantedBy(c *store.RunCommit) RunsWanted {
	var want RunsWanted
	for i := range c.Writes {
		w := &c.Writes[i]
		want.Runs = append(want.Runs, w.Run.ID)
		for n := range w.Takeoffs {
			want.Takeoffs = append(want.Takeoffs, flightKey(w, w.Takeoffs[n].Name))
		}
		for n := range w.Landings {
			want.Flights = append(want.Flights, flightKey(w, w.Landings[n].Name))
		}
	}
	byKey := func(a, b FlightKey) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name)) }
	want.Flights = append(want.Flights, want.Takeoffs...)
	slices.SortFunc(want.Runs, compareIDs)
	slices.SortFunc(want.Flights, byKey)
	slices.SortFunc(want.Takeoffs, byKey)
	want.Flights, want.Takeoffs = slices.Compact(want.Flights), slices.Compact(want.Takeoffs)
	return want
}

func flightKey(w *store.RunWrite, name string) FlightKey {
	return FlightKey{w.Run.TenantID, string(CacheRow(name))}
}

// RunsLoaded is what was read.
type RunsLoaded struct {
	Alive   map[string]bool
	Runs    map[rondo.ID]*RunHead
	Flights map[FlightKey]*FlightHead
}

// NewRunsLoaded is empty.
func NewRunsLoaded() *RunsLoaded {
	return &RunsLoaded{Alive: map[string]bool{}, Runs: map[rondo.ID]*RunHead{}, Flights: map[FlightKey]*FlightHead{}}
}

// KeepOwner takes the row of an owner who is alive.
func (l *RunsLoaded) KeepOwner(values []any) error {
	owner, err := ReadText(values)
	l.Alive[owner] = true
	return err
}

// KeepRun takes id, tenant, status and fence.
func (l *RunsLoaded) KeepRun(values []any) error {
	r := reader{values: values[:1]}
	head, err := ReadRunHead(values[1:])
	l.Runs[r.id()] = &head
	return cmp.Or(wrapRead("run", r.err), err)
}

// KeepFlight takes the columns of flights.
func (l *RunsLoaded) KeepFlight(values []any) error {
	r := reader{values: values[:2]}
	head := l.flight(FlightKey{r.text(), string(r.bytes())})
	head.locked = true
	return cmp.Or(wrapRead("flight", r.err), head.ReadFlight(values[2:]))
}

// KeepEntry takes the columns of step_cache.
func (l *RunsLoaded) KeepEntry(values []any) error {
	r := reader{values: values[:2]}
	head := l.flight(FlightKey{r.text(), string(r.bytes())})
	return cmp.Or(wrapRead("cache entry", r.err), head.ReadEntry(values))
}

func (l *RunsLoaded) flight(key FlightKey) *FlightHead {
	head := l.Flights[key]
	if head == nil {
		head = &FlightHead{}
		l.Flights[key] = head
	}
	return head
}
