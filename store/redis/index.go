package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// In a cluster the indexes are on other servers than the conversations. What is
// written here are hints: the user's list is never behind the truth, attention is
// never later than it.

// before writes the hints of a write, so that a crash right after the write leaves
// a conversation that can be found. It also makes sure of the pointer of a key.
func (s *Store) before(ctx context.Context, op string, p *prepared) error {
	if p.pointer != "" {
		other, err := s.point(ctx, op, p.pointer, p.points, "", life(p.w.At, p.w.Key.ExpiresAt))
		if err != nil {
			return err
		}
		if other != "" {
			return lost(op)
		}
	}
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		hintScript.Eval(ctx, pipe, []string{p.user}, score(p.w.Conversation.UpdatedAt), p.c.id, p.left, "GT")
		if p.attention != "" {
			hintScript.Eval(ctx, pipe, []string{timers}, p.attention, p.c.id, p.left, "LT")
		}
		return nil
	})
	return failed(op, err)
}

// after makes the attention exact. held says that the script kept the lease so that
// no later write can come in between; of a new conversation there is no lease, and
// the hint is only written again, in case that someone found it too early and
// dropped it. What fails here is made up for when the hint is used.
func (s *Store) after(ctx context.Context, p *prepared, mode string, held bool) {
	switch {
	case mode == modeCreate && p.attention != "":
		_, _, _ = s.run(ctx, hintScript, []string{timers}, p.attention, p.c.id, p.left, "LT")
	case held && p.attention == "":
		s.client.ZRem(ctx, timers, p.c.id)
	case held:
		_, _, _ = s.run(ctx, hintScript, []string{timers}, p.attention, p.c.id, p.left, "")
	}
	if held {
		_ = s.Release(ctx, p.w.Lease) // it runs out by itself
	}
}

// prolong keeps indexes as long as a conversation whose life was prolonged. The
// next write does the same, so a failure is left alone.
func (s *Store) prolong(ctx context.Context, indexes []string, life int64) {
	_, _ = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, index := range indexes {
			prolongScript.Eval(ctx, pipe, []string{index}, life)
		}
		return nil
	})
}

// forget drops the index entries of a conversation that is gone. Those that stay
// are dropped when they are used.
func (s *Store) forget(ctx context.Context, user, id string) {
	_, _ = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZRem(ctx, user, id)
		pipe.ZRem(ctx, timers, id)
		return nil
	})
}

// DueConversations implements store.Conversations.
func (s *Store) DueConversations(ctx context.Context, at time.Time, limit int) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	ids, err := s.client.ZRangeByScore(ctx, timers, &redis.ZRangeBy{Min: "-inf", Max: score(at), Count: int64(limit)}).Result()
	return ids, failed("list due conversations", err)
}

// PutOff implements store.Conversations.
func (s *Store) PutOff(ctx context.Context, id string, until time.Time) error {
	const op = "put off attention"
	if until.IsZero() {
		return failed(op, s.client.ZRem(ctx, timers, id).Err())
	}
	return failed(op, s.client.Do(ctx, "ZADD", timers, "XX", score(until), id).Err())
}

// ExpireConversations implements store.Conversations: Redis forgets by itself.
func (s *Store) ExpireConversations(context.Context, time.Time, int) (int, error) { return 0, nil }
