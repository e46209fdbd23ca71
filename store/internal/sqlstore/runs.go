package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// forgetOwners is how long the name of an owner that has ended stays known, so that
// it cannot come back meanwhile.
const forgetOwners = 24 * time.Hour

// RunLost says that a run, or the name of its owner, is not the caller's any more.
func RunLost(driver, op string) error {
	return &rondo.Error{
		Code: rondo.CodeLeaseLost, Op: driver + ": " + op, Message: "another process owns it by now, or the owner's time ran out",
		Hint: "drop what was decided; whoever owns it goes on", Err: store.ErrLeaseLost,
	}
}

// Heartbeat implements store.Runs: one statement, and more only for a name that is
// new or lapsed. The end of an owner that left is negative.
func (c *Cold) Heartbeat(ctx context.Context, owner string, at time.Time, d time.Duration) error {
	const op = "heartbeat"
	until := at.Add(d).UnixMicro()
	return c.alone(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "UPDATE run_owners SET alive_until = ? WHERE owner = ? AND alive_until > ?", until, owner, at.UnixMicro())
		if err != nil || n == 1 {
			return err
		}
		n, err = s.exec(ctx, "INSERT INTO run_owners (owner, alive_until) VALUES (?, ?) "+s.d.ignore("owner"), owner, until)
		if err != nil {
			return err
		}
		if n == 1 {
			_, err = s.exec(ctx, "DELETE FROM run_owners WHERE ABS(alive_until) < ?", at.Add(-forgetOwners).UnixMicro())
			return err
		}
		alive, err := s.aliveOwners(ctx, at)
		if err == nil && !alive[owner] {
			err = RunLost(c.dialect.Name, op)
		}
		return err
	})
}

// LeaveRuns implements store.Runs.
func (c *Cold) LeaveRuns(ctx context.Context, owner string) error {
	return c.alone(ctx, "leave runs", func(ctx context.Context, s session) error {
		_, err := s.exec(ctx, "UPDATE run_owners SET alive_until = -alive_until WHERE owner = ? AND alive_until > 0", owner)
		return err
	})
}

// AliveOwners asks who is alive after a time.
const AliveOwners = "SELECT owner FROM run_owners WHERE alive_until > ?"

func (s session) aliveOwners(ctx context.Context, at time.Time) (map[string]bool, error) {
	alive := map[string]bool{}
	err := s.each(ctx, func(values []any) error {
		owner, err := ReadText(values)
		alive[owner] = true
		return err
	}, AliveOwners, at.UnixMicro())
	return alive, err
}

// ClaimRuns implements store.Runs. A look without a transaction comes first: most
// find nothing, and whose turn it is cannot be asked with locks in every dialect.
func (c *Cold) ClaimRuns(ctx context.Context, owner string, at time.Time, want store.Claim) ([]store.OwnedRun, error) {
	const op = "claim runs"
	if want.Limit <= 0 {
		return nil, nil
	}
	dead, err := c.reader().deadOwners(ctx, owner, at)
	if err != nil || len(dead) == 0 {
		return nil, c.wrap(op, err)
	}
	owners := make([]any, len(dead))
	for i := range dead {
		owners[i] = dead[i]
	}
	turn, err := c.reader().inTurn(ctx, owners, &want)
	if err != nil || len(turn) == 0 {
		return nil, c.wrap(op, err)
	}
	var claimed []store.OwnedRun
	err = c.gather(ctx, op, func(ctx context.Context, s session) error {
		args := make([]any, 0, len(turn)+len(owners))
		for i := range turn {
			args = append(args, ID(turn[i]))
		}
		args = append(args, owners...)
		var err error
		claimed, err = list(ctx, s, readRun, "SELECT "+c.tables.Runs.Names("")+" FROM runs WHERE id IN ("+Marks(len(turn))+") AND live = 1 AND owner IN ("+
			Marks(len(owners))+")"+s.d.SkipLocked, args...)
		if err != nil {
			return err
		}
		slices.SortFunc(claimed, func(a, b store.OwnedRun) int {
			return cmp.Compare(slices.Index(turn, a.Run.ID), slices.Index(turn, b.Run.ID))
		})
		for i := range claimed {
			claimed[i].Fence++
			if _, err := s.exec(ctx, "UPDATE runs SET owner = ?, fence = ? WHERE id = ?", owner, claimed[i].Fence, ID(claimed[i].Run.ID)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// inTurn finds the runs of owners that may be claimed: the first of every tenant, then
// the second of every tenant, and so on.
func (s session) inTurn(ctx context.Context, owners []any, want *store.Claim) ([]rondo.ID, error) {
	where, args := "live = 1 AND owner IN ("+Marks(len(owners))+")", slices.Clone(owners)
	if !want.Run.IsZero() {
		where, args = where+" AND id = ?", append(args, ID(want.Run))
	}
	for tenant := range want.Taken {
		if want.Room(tenant) == 0 {
			where, args = where+" AND tenant_id <> ?", append(args, tenant)
		}
	}
	var turn []rondo.ID
	claimed := map[string]int{}
	err := s.each(ctx, func(values []any) error {
		r := reader{values: values}
		id, tenant := r.id(), r.text()
		if claimed[tenant] < want.Room(tenant) {
			claimed[tenant]++
			turn = append(turn, id)
		}
		return wrapRead("run", r.err)
	}, "SELECT id, tenant_id FROM (SELECT id, tenant_id, created_at, ROW_NUMBER() OVER (PARTITION BY tenant_id ORDER BY created_at, id) AS place FROM runs WHERE "+
		where+") waiting ORDER BY place, created_at, id LIMIT ?", append(args, int64(min(want.Limit, maxParameters/2)))...)
	return turn, err
}

// deadOwners walks from owner to owner of runs that are to be driven and returns
// those who are neither alive nor the one who asks.
func (s session) deadOwners(ctx context.Context, asking string, at time.Time) ([]string, error) {
	var owners []string
	query, args := "SELECT owner FROM runs WHERE live = 1 ORDER BY owner LIMIT 1", []any(nil)
	for {
		next, err := list(ctx, s, ReadText, query, args...)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
		owners = append(owners, next[0])
		query, args = "SELECT owner FROM runs WHERE live = 1 AND owner > ? ORDER BY owner LIMIT 1", []any{next[0]}
	}
	if len(owners) == 0 || len(owners) == 1 && owners[0] == asking {
		return nil, nil
	}
	alive, err := s.aliveOwners(ctx, at)
	return slices.DeleteFunc(owners, func(owner string) bool { return owner == asking || alive[owner] }), err
}

// Signals implements store.Runs. There are hardly ever any, so that is asked first.
func (c *Cold) Signals(ctx context.Context, owner string, limit int) ([]store.RunSignal, error) {
	const op = "read signals"
	if limit <= 0 || owner == "" {
		return nil, nil
	}
	some, err := list(ctx, c.reader(), readID, "SELECT id FROM run_signals ORDER BY id LIMIT 1")
	if err != nil || len(some) == 0 {
		return nil, c.wrap(op, err)
	}
	found, err := list(ctx, c.reader(), func(values []any) (store.RunSignal, error) {
		r := reader{values: values}
		signal := store.RunSignal{ID: r.id(), RunID: r.id(), Kind: r.text(), Body: r.bytes(), At: r.time()}
		return signal, wrapRead("signal", r.err)
	}, "SELECT s.id, s.run_id, s.kind, s.body, s.signal_at FROM run_signals s JOIN runs r ON r.id = s.run_id WHERE r.owner = ? AND r.live = 1 ORDER BY s.id LIMIT ?",
		owner, int64(limit))
	return found, c.wrap(op, err)
}

// PutSignals implements store.Runs.
func (c *Cold) PutSignals(ctx context.Context, signals []store.RunSignal) error {
	if len(signals) == 0 {
		return nil
	}
	return c.gather(ctx, "store signals", func(ctx context.Context, s session) error {
		for i := range signals {
			signal := &signals[i]
			live, err := list(ctx, s, readID, "SELECT id FROM runs WHERE id = ? AND live = 1", ID(signal.RunID))
			if err != nil {
				return err
			}
			if len(live) == 0 {
				continue
			}
			if _, err := s.exec(ctx, "INSERT INTO run_signals (id, run_id, kind, body, signal_at) VALUES ("+Marks(5)+") "+s.d.ignore("id"),
				ID(signal.ID), ID(signal.RunID), signal.Kind, document(signal.Body), Micros(signal.At)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RaisedByRuns implements store.Runs.
func (c *Cold) RaisedByRuns(ctx context.Context, limit int) ([]store.RunRaised, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, err := list(ctx, c.reader(), readRaised,
		"SELECT "+c.tables.Raised.Names("")+" FROM run_raised ORDER BY occurred_at, event_id LIMIT ?", int64(limit))
	return found, c.wrap("read raised events", err)
}

// ConfirmRaised implements store.Runs.
func (c *Cold) ConfirmRaised(ctx context.Context, eventIDs []string) error {
	if len(eventIDs) == 0 {
		return nil
	}
	return c.gather(ctx, "confirm raised events", func(ctx context.Context, s session) error {
		for _, id := range slices.Sorted(slices.Values(eventIDs)) {
			if _, err := s.exec(ctx, "DELETE FROM run_raised WHERE event_id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
}

// noRun says that a run is not there for this tenant.
func (c *Cold) noRun(op string) error {
	return rondo.Op(c.dialect.Name+": "+op, rondo.NotFound("run"))
}

func compareIDs(a, b rondo.ID) int { return bytes.Compare(a[:], b[:]) }
