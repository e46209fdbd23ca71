package sqlstore

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// RunHead is what decides whether a run may be written.
type RunHead struct {
	Status rondo.RunStatus
	Fence  int64
}

// ReadRunHead takes status and fence.
func ReadRunHead(values []any) (RunHead, error) {
	r := reader{values: values}
	head := RunHead{Status: rondo.RunStatus(r.text()), Fence: r.int()}
	return head, wrapRead("run", r.err)
}

// Resume says why a run cannot be started again; nil = it can. A nil head is a run
// that is not there.
func (h *RunHead) Resume(driver string, from rondo.RunStatus) error {
	const op = ": commit runs"
	switch {
	case h == nil:
		return rondo.Op(driver+op, rondo.NotFound("run"))
	case h.Status != from:
		return rondo.Op(driver+op, rondo.WrongState("the run is "+string(h.Status)+", not "+string(from)))
	}
	return nil
}

// RunTaken says that a run cannot be inserted because its id is there already.
func RunTaken(driver string) error {
	return &rondo.Error{Code: rondo.CodeConflict, Op: driver + ": commit runs", Message: "the run exists already", Hint: "use another id"}
}

// TakeOff decides a takeoff that meets the row of its name. Whoever asks holds what
// it took before, alive or not.
func (h *CacheHead) TakeOff(t *store.Takeoff, owner string, at time.Time, alive map[string]bool) store.Flight {
	switch {
	case t.Key && !t.Again && GoodEntry(h.Entry, at):
		return store.Flight{Entry: h.Entry}
	case h.Owner != "" && (h.Owner == owner || alive[h.Owner]):
		return store.Flight{}
	}
	return store.Flight{Taken: true, Fence: h.Fence + 1, TookOver: h.Owner != ""}
}
