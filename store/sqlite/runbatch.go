package sqlite

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// putRun writes the run itself, or says why it may not be written. A run that goes
// on as before, which most do, costs one statement.
func (b *runBatch) putRun(w *store.RunWrite, result *store.RunResult) (refused, err error) {
	run := w.Run
	state, err := sqlstore.RunState(run, b.commit.Owner, w.Fence)
	if err != nil {
		return nil, err
	}
	if !w.Insert && w.Resume == "" && !run.Status.Ended() && run.CompletedAt.IsZero() {
		n, err := b.changes(b.q.stepOn, state[4], state[5], state[6], state[8], sqlstore.ID(run.ID), run.TenantID, w.Fence, string(run.Status), b.commit.Owner)
		if err != nil || n == 1 {
			result.Fence = w.Fence
			return nil, err
		}
	}
	var head *sqlstore.RunHead
	err = b.query(func(values []any) error {
		found, err := sqlstore.ReadRunHead(values)
		head = &found
		return err
	}, b.q.runHead, sqlstore.ID(run.ID))
	if err != nil {
		return nil, err
	}
	if result.Fence, refused = head.Admit("sqlite", w); refused != nil {
		return refused, nil
	}
	if w.Insert {
		row, err := sqlstore.RunRow(run, b.commit.Owner)
		if err == nil {
			_, err = b.exec(b.q.insertRun, row...)
		}
		return nil, err
	}
	if state, err = sqlstore.RunState(run, b.commit.Owner, result.Fence); err == nil {
		_, err = b.exec(b.q.change, append(state, sqlstore.ID(run.ID))...)
	}
	return nil, err
}

// putRest writes everything of a write but the run, its flights and its events.
func (b *runBatch) putRest(w *store.RunWrite) error {
	for i := range w.Steps {
		if err := b.putStep(&w.Steps[i]); err != nil {
			return err
		}
	}
	for i := range w.Artifacts {
		row, err := sqlstore.ArtifactRow(&w.Artifacts[i])
		if err != nil {
			return err
		}
		if _, err := b.exec(b.q.artifact, row...); err != nil {
			return err
		}
		if _, err := b.exec(b.q.use, row[0], sqlstore.ID(w.Run.ID)); err != nil {
			return err
		}
	}
	for i := range w.Raised {
		row, err := sqlstore.RaisedRow(w.Run, &w.Raised[i])
		if err != nil {
			return err
		}
		if _, err := b.exec(b.q.raised, row...); err != nil {
			return err
		}
	}
	for _, id := range w.Signals {
		if _, err := b.exec(b.q.obeyed, sqlstore.ID(id)); err != nil {
			return err
		}
	}
	if w.Run.Status.Ended() {
		_, err := b.exec(b.q.dropSignals, sqlstore.ID(w.Run.ID))
		return err
	}
	return nil
}

func (b *runBatch) putStep(step *rondo.RunStep) error {
	row, err := sqlstore.RunStepRow(step)
	if err != nil {
		return err
	}
	if _, err := b.exec(b.q.step, row...); err != nil {
		return err
	}
	return b.uses(step.ArtifactIDs, step.RunID[:])
}

func (b *runBatch) uses(artifacts []rondo.ID, user []byte) error {
	for i := range artifacts {
		if _, err := b.exec(b.q.use, artifacts[i][:], user); err != nil {
			return err
		}
	}
	return nil
}

// land ends flights that are still held.
func (b *runBatch) land(w *store.RunWrite, result *store.RunResult) error {
	if len(w.Landings) == 0 {
		return nil
	}
	result.Landed = make([]bool, len(w.Landings))
	for i := range w.Landings {
		landing := &w.Landings[i]
		name := sqlstore.CacheRow(landing.Name)
		n, err := b.changes(b.q.land, w.Run.TenantID, name, b.commit.Owner, landing.Fence)
		if err != nil {
			return err
		}
		if result.Landed[i] = n == 1; n != 1 || landing.Entry == nil {
			continue
		}
		if _, err := b.exec(b.q.keep, sqlstore.EntryRow(w.Run.TenantID, name, landing.Fence, landing.Entry)...); err != nil {
			return err
		}
		if err := b.entryUses(sqlstore.EntryUser(w.Run.TenantID, name), landing); err != nil {
			return err
		}
	}
	return nil
}

func (b *runBatch) entryUses(user []byte, landing *store.Landing) error {
	if sqlstore.Replaces(landing) {
		if _, err := b.exec(b.q.replaced, sqlstore.ReplacedUser, user); err != nil {
			return err
		}
		if _, err := b.exec(b.q.dropUses, user); err != nil {
			return err
		}
	}
	return b.uses(landing.Entry.ArtifactIDs, user)
}

// takeOff decides the takeoffs of a write. A name that nobody knows, which most
// are, costs one statement.
func (b *runBatch) takeOff(w *store.RunWrite, result *store.RunResult) error {
	if len(w.Takeoffs) == 0 {
		return nil
	}
	result.Flights = make([]store.Flight, len(w.Takeoffs))
	for i := range w.Takeoffs {
		t, flight := &w.Takeoffs[i], &result.Flights[i]
		name := sqlstore.CacheRow(t.Name)
		n, err := b.changes(b.q.takeOff, w.Run.TenantID, name, b.commit.Owner)
		if err != nil {
			return err
		}
		if n == 1 {
			*flight = store.Flight{Taken: true, Fence: 1}
		} else if *flight, err = b.takeKnown(w.Run.TenantID, name, t); err != nil {
			return err
		}
		if !flight.Taken {
			continue
		}
		if err := b.putStep(&t.Step); err != nil {
			return err
		}
		seqs, err := b.send(t.Outbox)
		if err != nil {
			return err
		}
		result.Seqs = append(result.Seqs, seqs...)
	}
	return nil
}

// takeKnown takes a flight whose name is known, unless it has a good entry or
// someone alive holds it.
func (b *runBatch) takeKnown(tenant string, name []byte, t *store.Takeoff) (store.Flight, error) {
	var head sqlstore.FlightHead
	err := b.query(head.ReadFlight, b.q.flight, tenant, name)
	if err == nil {
		err = b.query(head.ReadEntry, b.q.entry, tenant, name)
	}
	if err == nil && head.Owner != "" && b.owners == nil {
		err = b.readOwners()
	}
	if err != nil {
		return store.Flight{}, err
	}
	flight := head.TakeOff(t, b.commit.Owner, b.commit.At, b.owners)
	if flight.Taken {
		_, err = b.exec(b.q.take, tenant, name, b.commit.Owner, flight.Fence)
	}
	return flight, err
}

func (b *runBatch) readOwners() error {
	b.owners = map[string]bool{}
	return b.query(func(values []any) error {
		owner, err := sqlstore.ReadText(values)
		b.owners[owner] = true
		return err
	}, b.q.alive, b.commit.At.UnixMicro())
}
