package sqlstore

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// RunHead is what decides whether a run may be written.
type RunHead struct {
	Tenant string
	Status rondo.RunStatus
	Fence  int64
}

// ReadRunHead takes tenant, status and fence.
func ReadRunHead(values []any) (RunHead, error) {
	r := reader{values: values}
	head := RunHead{Tenant: r.text(), Status: rondo.RunStatus(r.text()), Fence: r.int()}
	return head, wrapRead("run", r.err)
}

// Admit says which fence a write gives a run, or why it is refused. A nil head is a
// run that is not there.
func (h *RunHead) Admit(driver string, w *store.RunWrite) (fence int64, refused error) {
	const op = "commit runs"
	if h != nil && !w.Insert && h.Tenant != w.Run.TenantID {
		h = nil
	}
	switch {
	case w.Insert && h != nil:
		return 0, &rondo.Error{Code: rondo.CodeConflict, Op: driver + ": " + op, Message: "the run exists already", Hint: "use another id"}
	case w.Insert:
		return 1, nil
	case w.Resume != "" && h == nil:
		return 0, rondo.Op(driver+": "+op, rondo.NotFound("run"))
	case w.Resume != "" && h.Status != w.Resume:
		return 0, rondo.Op(driver+": "+op, rondo.WrongState("the run is "+string(h.Status)+", not "+string(w.Resume)))
	case w.Resume != "":
		return h.Fence + 1, nil
	case h == nil || h.Fence != w.Fence:
		return 0, RunLost(driver, op)
	}
	return h.Fence, nil
}

// FlightHead is what is known of the name of a flight.
type FlightHead struct {
	Owner string // "" = nobody has it
	Fence int64  // the highest one that is known
	Entry *rondo.CacheEntry

	flown           int64 // the fence of the flight under way
	made            int64 // that of the flight that made the entry
	locked, changed bool  // the row is there; it must be written
}

// ReadFlight takes owner and fence.
func (h *FlightHead) ReadFlight(values []any) error {
	r := reader{values: values}
	h.Owner, h.flown = r.text(), r.int()
	h.Fence = max(h.Fence, h.flown)
	return wrapRead("flight", r.err)
}

// ReadEntry takes the columns of step_cache.
func (h *FlightHead) ReadEntry(values []any) error {
	stored, err := ReadEntry(values)
	if err != nil {
		return err
	}
	h.Entry, h.made, h.Fence = &stored.Entry, stored.Fence, max(h.Fence, stored.Fence)
	return nil
}

// land ends the flight under way.
func (h *FlightHead) land(landing *store.Landing) {
	if landing.Entry != nil {
		entry := *landing.Entry
		entry.CreatedAt, entry.LastUsedAt, entry.ExpiresAt = Stored(entry.CreatedAt), Stored(entry.LastUsedAt), Stored(entry.ExpiresAt)
		h.Entry, h.made = &entry, landing.Fence
	}
	h.Owner, h.flown, h.Fence, h.changed = "", 0, h.made, true
}

// TakeOff decides a takeoff. Whoever asks holds what it took before, alive or not.
func (h *FlightHead) TakeOff(t *store.Takeoff, owner string, at time.Time, alive map[string]bool) store.Flight {
	switch {
	case t.Key && !t.Again && GoodEntry(h.Entry, at):
		return store.Flight{Entry: h.Entry}
	case h.Owner != "" && (h.Owner == owner || alive[h.Owner]):
		return store.Flight{}
	}
	return store.Flight{Taken: true, Fence: h.Fence + 1, TookOver: h.Owner != ""}
}
