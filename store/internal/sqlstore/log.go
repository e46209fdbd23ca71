package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// log_head is one row: the highest number given out (where numbers are given by
// it; see Dialect.Head) and how often a stream got its first group. Whoever
// writes to the log or leaves a relayed event out of it locks the row, so that
// joining a stream and writing to it are serial.

// LogJoin implements store.Log.
func (c *Cold) LogJoin(ctx context.Context, group string, streams []string) error {
	return c.write(ctx, "join a group", func(s session) error {
		if err := s.each(ctx, func([]any) error { return nil }, "SELECT seq FROM log_head WHERE id = 1"+c.dialect.Lock); err != nil {
			return err
		}
		if err := c.addGroup(ctx, s, group); err != nil {
			return err
		}
		listened, err := list(ctx, s, ReadText, "SELECT DISTINCT stream FROM log_positions")
		if err != nil {
			return err
		}
		for _, stream := range streams {
			if _, err := s.exec(ctx, "INSERT INTO log_positions (grp, stream, position, acked) VALUES (?, ?, 0, '') "+
				c.dialect.ignore("grp"), group, stream); err != nil {
				return err
			}
			if slices.Contains(listened, stream) {
				continue
			}
			listened = append(listened, stream)
			if err := c.backfill(ctx, s, stream); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cold) addGroup(ctx context.Context, s session, group string) error {
	_, err := s.exec(ctx, "INSERT INTO log_groups (grp, owner, fence, lease_until) VALUES (?, '', 0, NULL) "+c.dialect.ignore("grp"), group)
	return err
}

// backfill logs the inbound events that came while nobody listened.
func (c *Cold) backfill(ctx context.Context, s session, stream string) error {
	head, err := c.head(ctx, s)
	if err != nil {
		return err
	}
	added, err := s.exec(ctx, "INSERT INTO log_entries ("+c.tables.Log.Names("")+") "+
		"SELECT "+c.dialect.bigParameter()+" + ROW_NUMBER() OVER (ORDER BY id), type, org_id, event_id, instance_id, envelope, received_at, 1 FROM events WHERE type = ?",
		head, stream)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "UPDATE log_head SET seq = ?, joins = joins + 1 WHERE id = 1", head+added)
	return err
}

// bigParameter is a parameter that is an integer in a place that does not say so.
func (d *Dialect) bigParameter() string { return "CAST(? AS " + d.BigInt + ")" }

func (c *Cold) head(ctx context.Context, s session) (int64, error) {
	var head int64
	err := s.each(ctx, func(values []any) error {
		r := reader{values: values}
		head = r.int()
		return r.err
	}, c.dialect.Head)
	return head, err
}

// LogLease implements store.Log.
func (c *Cold) LogLease(ctx context.Context, group, owner string, now time.Time, ttl time.Duration) (int64, bool, error) {
	var fence int64
	var ok bool
	err := c.write(ctx, "lease a group", func(s session) error {
		if err := c.addGroup(ctx, s, group); err != nil {
			return err
		}
		var holder string
		var until time.Time
		err := s.each(ctx, func(values []any) error {
			r := reader{values: values}
			holder, fence, until = r.text(), r.int(), r.time()
			return r.err
		}, "SELECT owner, fence, lease_until FROM log_groups WHERE grp = ?"+c.dialect.Lock, group)
		if err != nil {
			return err
		}
		if ok = holder == owner || holder == "" || !until.After(now); !ok {
			return nil
		}
		if holder != owner {
			fence++
		}
		_, err = s.exec(ctx, "UPDATE log_groups SET owner = ?, fence = ?, lease_until = ? WHERE grp = ?",
			owner, fence, now.Add(ttl).UnixMicro(), group)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return fence, ok, nil
}

// LogRelease implements store.Log.
func (c *Cold) LogRelease(ctx context.Context, group, owner string) error {
	return c.write(ctx, "release a group", func(s session) error {
		_, err := s.exec(ctx, "UPDATE log_groups SET owner = '', lease_until = NULL WHERE grp = ? AND owner = ?", group, owner)
		return err
	})
}

// LogGroup implements store.Log.
func (c *Cold) LogGroup(ctx context.Context, group string) ([]store.GroupState, error) {
	found, err := list(ctx, c.reader(), readPosition,
		"SELECT p.grp, p.stream, p.position, p.acked, g.fence FROM log_positions p JOIN log_groups g ON g.grp = p.grp "+
			"WHERE p.grp = ? ORDER BY p.stream", group)
	return found, c.wrap("read a group", err)
}

func readPosition(values []any) (store.GroupState, error) {
	r := reader{values: values}
	state := store.GroupState{Group: r.text(), Stream: r.text(), Cursor: r.int()}
	acked := r.bytes()
	state.Fence = r.int()
	if r.err == nil && len(acked) > 0 {
		r.err = json.Unmarshal(acked, &state.Acked)
	}
	return state, wrapRead("position", r.err)
}

// AckedText is the acked entries of a position as they are stored.
func AckedText(acked []int64) (string, error) {
	if len(acked) == 0 {
		return "", nil
	}
	text, err := json.Marshal(acked)
	return string(text), err
}

// LogRead implements store.Log.
func (c *Cold) LogRead(ctx context.Context, streams []string, after int64, limit int) ([]rondo.Outgoing, error) {
	if len(streams) == 0 || limit <= 0 {
		return nil, nil
	}
	args := []any{after}
	for _, stream := range streams {
		args = append(args, stream)
	}
	found, err := list(ctx, c.reader(), readOutgoing,
		"SELECT "+c.tables.Log.Names("")+" FROM log_entries WHERE seq > ? AND stream IN ("+Marks(len(streams))+") ORDER BY seq LIMIT ?",
		append(args, int64(limit))...)
	return found, c.wrap("read the log", err)
}

// LogHead implements store.Log.
func (c *Cold) LogHead(ctx context.Context) (int64, error) {
	head, err := c.head(ctx, c.reader())
	return head, c.wrap("read the head of the log", err)
}

// AckQuery stores one position unless a later one is stored: its parameters are
// position, acked, group, stream, position, position, the length of acked, group
// and fence. Of two positions with the same cursor the later one has acked more.
const AckQuery = "UPDATE log_positions SET position = ?, acked = ? WHERE grp = ? AND stream = ? " +
	"AND (position < ? OR (position = ? AND LENGTH(acked) <= ?)) " +
	"AND EXISTS (SELECT 1 FROM log_groups g WHERE g.grp = ? AND g.fence <= ?)"

// AckArgs are the parameters of AckQuery.
func AckArgs(state *store.GroupState) ([]any, error) {
	acked, err := AckedText(state.Acked)
	if err != nil {
		return nil, err
	}
	return []any{
		state.Cursor, acked, state.Group, state.Stream,
		state.Cursor, state.Cursor, int64(len(acked)), state.Group, state.Fence,
	}, nil
}

// LogAck implements store.Log.
func (c *Cold) LogAck(ctx context.Context, states []store.GroupState) error {
	if len(states) == 0 {
		return nil
	}
	return c.write(ctx, "ack", func(s session) error {
		for i := range states {
			args, err := AckArgs(&states[i])
			if err != nil {
				return err
			}
			if _, err := s.exec(ctx, AckQuery, args...); err != nil {
				return err
			}
		}
		return nil
	})
}
