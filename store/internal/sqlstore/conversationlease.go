package sqlstore

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// leaseRow is what a second look needs of a conversation.
type leaseRow struct {
	tenant, user, token string
	until, expires      int64
}

func (r *leaseRow) ownedBy(o store.Owner) bool { return r.tenant == o.TenantID && r.user == o.UserID }

func (r *leaseRow) heldBy(token string, at time.Time) bool {
	return token != "" && r.token == token && r.until > at.UnixMicro()
}

// leaseOf reads who has the lease of a conversation; nil = it is not there.
func (s session) leaseOf(ctx context.Context, id string) (*leaseRow, error) {
	found, err := list(ctx, s, func(values []any) (*leaseRow, error) {
		r := reader{values: values}
		row := &leaseRow{tenant: r.text(), user: r.text(), token: r.text(), until: r.int(), expires: r.int()}
		return row, wrapRead("lease", r.err)
	}, "SELECT tenant_id, user_id, lease_token, lease_until, expires_at FROM conversations WHERE id = ?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// looks is how often a statement that changed nothing is tried when a look does
// not say why: what stood in its way went away in between.
const looks = 3

// Acquire implements store.Conversations: one statement, and a second look only
// when it changed nothing.
func (c *Cold) Acquire(ctx context.Context, a store.AcquireConversation) error {
	const op = "acquire conversation"
	if !storable(a.Owner.ID) {
		return c.noConversation(op)
	}
	at, expires := a.At.UnixMicro(), a.ExpiresAt.UnixMicro()
	query := "UPDATE conversations SET lease_token = ?, lease_until = ?, expires_at = CASE WHEN expires_at < ? THEN ? ELSE expires_at END " +
		"WHERE id = ? AND expires_at > ? AND lease_until <= ?"
	args := []any{a.Token, a.At.Add(a.Lease).UnixMicro(), expires, expires, a.Owner.ID, at, at}
	if !a.System {
		query += " AND tenant_id = ? AND user_id = ?"
		args = append(args, a.Owner.TenantID, a.Owner.UserID)
	}
	return c.alone(ctx, op, func(ctx context.Context, s session) error {
		var left int64
		for range looks {
			if n, err := s.exec(ctx, query, args...); err != nil || n == 1 {
				return err
			}
			row, err := s.leaseOf(ctx, a.Owner.ID)
			if err != nil {
				return err
			}
			if row == nil || row.expires <= at || !a.System && !row.ownedBy(a.Owner) {
				return c.noConversation(op)
			}
			if left = row.until - at; left > 0 {
				break
			}
		}
		return &rondo.Error{
			Code: rondo.CodeConversationBusy, Op: c.dialect.Name + ": " + op, Message: "another turn is under way",
			Hint: "wait for its answer", Err: &store.BusyError{RetryAfter: time.Duration(max(left, 1)) * time.Microsecond},
		}
	})
}

// Renew implements store.Conversations. A look follows a statement that changed
// nothing: MariaDB does not count a row that is as it should be.
func (c *Cold) Renew(ctx context.Context, lease store.Lease, at time.Time, d time.Duration) error {
	const op = "renew lease"
	return c.alone(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "UPDATE conversations SET lease_until = ? WHERE id = ? AND lease_token = ? AND lease_until > ? AND expires_at > ?",
			at.Add(d).UnixMicro(), lease.ID, lease.Token, at.UnixMicro(), at.UnixMicro())
		if err != nil || n == 1 {
			return err
		}
		row, err := s.leaseOf(ctx, lease.ID)
		if err == nil && (row == nil || !row.heldBy(lease.Token, at) || row.expires <= at.UnixMicro()) {
			err = c.leaseLost(op)
		}
		return err
	})
}

// Release implements store.Conversations.
func (c *Cold) Release(ctx context.Context, lease store.Lease) error {
	return c.alone(ctx, "release lease", func(ctx context.Context, s session) error {
		_, err := s.exec(ctx, "UPDATE conversations SET lease_token = '', lease_until = 0 WHERE id = ? AND lease_token = ? AND lease_until > 0", lease.ID, lease.Token)
		return err
	})
}

// Delete implements store.Conversations.
func (c *Cold) Delete(ctx context.Context, owner store.Owner, lease store.Lease) error {
	const op = "delete conversation"
	if !storable(owner.ID) {
		return c.noConversation(op)
	}
	return c.gather(ctx, op, func(ctx context.Context, s session) error {
		n, err := s.exec(ctx, "DELETE FROM conversations WHERE id = ? AND tenant_id = ? AND user_id = ? AND lease_token = ? AND lease_until > 0",
			owner.ID, owner.TenantID, owner.UserID, lease.Token)
		if err != nil {
			return err
		}
		if n == 1 {
			_, err = s.eraseConversations(ctx, []any{owner.ID})
			return err
		}
		row, err := s.leaseOf(ctx, owner.ID)
		switch {
		case err != nil:
			return err
		case row == nil || !row.ownedBy(owner):
			return c.noConversation(op)
		default:
			return c.leaseLost(op)
		}
	})
}
