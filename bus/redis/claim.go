package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/bus"
)

// How often a reader looks for entries whose AckWait has passed: a quarter of
// it, within these bounds.
const (
	claimOften = 50 * time.Millisecond
	claimRare  = 5 * time.Second
)

// claim is a page of one stream's pending entries to look through.
type claim struct {
	key   string
	start string
}

// claimDue takes over entries that were delivered longer than AckWait ago, this
// consumer's own among them. It returns at most about limit deliveries; what is
// left comes with the next calls, before new entries.
func (r *reader) claimDue(ctx context.Context, now time.Time, limit int) ([]bus.Delivery, error) {
	if len(r.claims) == 0 {
		if now.Before(r.claimAt) {
			return nil, nil
		}
		for _, key := range r.keys {
			r.claims = append(r.claims, claim{key: key, start: "0-0"})
		}
	}
	r.claimAt = now.Add(min(max(r.ackWait/4, claimOften), claimRare))
	var all []bus.Delivery
	for len(r.claims) > 0 && len(all) == 0 && ctx.Err() == nil {
		pages := r.claims
		deliveries, next, err := r.claimPages(ctx, pages, max(limit/len(pages), 1))
		if err != nil {
			r.claims = nil
			return nil, err
		}
		r.claims = next
		all = append(all, deliveries...)
	}
	return all, nil
}

// claimPages asks for one page of each stream in one pipeline.
func (r *reader) claimPages(ctx context.Context, pages []claim, count int) (all []bus.Delivery, next []claim, err error) {
	acks := r.takeAcks() // first: what is done must not be claimed again
	pipe := r.bus.client.Pipeline()
	r.addAcks(ctx, pipe, acks)
	results := make([]*redis.Cmd, len(pages))
	for i, page := range pages {
		results[i] = redis.NewCmd(ctx, "xautoclaim", page.key, r.group, r.name, r.ackWait.Milliseconds(), page.start, "count", count)
		_ = pipe.Process(ctx, results[i]) // each result has its own error
	}
	if _, err := pipe.Exec(ctx); err != nil {
		r.putBackAcks(acks)
		return nil, nil, err
	}
	gone := map[string][]any{}
	for i, result := range results {
		reply, err := result.Slice()
		if err != nil {
			return nil, nil, err
		}
		if len(reply) < 2 {
			return nil, nil, unexpected(reply)
		}
		cursor, _ := reply[0].(string)
		entries, ok := reply[1].([]any)
		if !ok {
			return nil, nil, unexpected(reply[1])
		}
		key := pages[i].key
		claimed, deleted, err := appendEntries(nil, r.types[key], entries, 2)
		if err != nil {
			return nil, nil, err
		}
		if len(deleted) > 0 {
			gone[key] = deleted
		}
		if err := r.countAttempts(ctx, key, claimed); err != nil {
			return nil, nil, err
		}
		all = append(all, claimed...)
		if cursor != "0-0" {
			next = append(next, claim{key: key, start: cursor})
		}
	}
	return all, next, r.sendAcks(ctx, gone)
}

// countAttempts asks how often claimed entries were delivered.
func (r *reader) countAttempts(ctx context.Context, key string, claimed []bus.Delivery) error {
	if len(claimed) == 0 {
		return nil
	}
	pending, err := r.bus.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: key, Group: r.group, Consumer: r.name,
		Start: claimed[0].EntryID, End: claimed[len(claimed)-1].EntryID, Count: int64(4*len(claimed) + 100),
	}).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	attempts := make(map[string]int, len(pending))
	for _, p := range pending {
		attempts[p.ID] = int(p.RetryCount)
	}
	for i := range claimed {
		claimed[i].Attempt = max(claimed[i].Attempt, attempts[claimed[i].EntryID])
	}
	return nil
}
