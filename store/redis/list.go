package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	// listChunk is how many entries of an index are looked at together.
	listChunk = 128
	// pruneAfter is how old an entry must be to be dropped when its conversation is
	// not there: a younger one may belong to a conversation that is being created.
	pruneAfter = 10 * time.Minute
)

// ConversationList implements store.Conversations. The index is never behind the
// truth, so what has been read is in order down to the score of the next entry.
func (s *Store) ConversationList(ctx context.Context, tenant, user string, at time.Time, page store.ConversationPage) ([]rondo.Conversation, error) {
	const op = "list conversations"
	if page.Limit <= 0 {
		return nil, nil
	}
	index := s.names.user(tenant, user)
	var found []rondo.Conversation
	var stale []any
	for start := int64(0); ; start += listChunk {
		entries, err := s.client.ZRevRangeWithScores(ctx, index, start, start+listChunk-1).Result()
		if err != nil {
			return nil, failed(op, err)
		}
		records, gone, err := s.listed(ctx, op, entries, at)
		if err != nil {
			return nil, err
		}
		stale = append(stale, gone...)
		for _, c := range records {
			if c.TenantID == tenant && c.UserID == user && onPage(&c, page) {
				found = append(found, c)
			}
		}
		slices.SortFunc(found, newestFirst)
		if len(entries) < listChunk || len(found) >= page.Limit && beyond(&found[page.Limit-1], entries[len(entries)-1].Score) {
			break
		}
	}
	if len(stale) > 0 {
		// What cannot be dropped now is found again.
		_ = s.client.ZRem(ctx, index, stale...).Err()
	}
	return found[:min(len(found), page.Limit)], nil
}

// listed reads the conversations of some entries, and tells which entries are of
// none and old.
func (s *Store) listed(ctx context.Context, op string, entries []redis.Z, at time.Time) (records []rondo.Conversation, gone []any, err error) {
	texts, ends := make([]*redis.StringCmd, len(entries)), make([]*redis.StringCmd, len(entries))
	pipe := s.client.Pipeline()
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i], _ = entry.Member.(string)
		c := s.names.conversation(ids[i])
		texts[i], ends[i] = pipe.Get(ctx, c.conv), pipe.HGet(ctx, c.meta, "expires")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, failed(op, err)
	}
	for i, id := range ids {
		if errors.Is(texts[i].Err(), redis.Nil) || ended(ends[i].Val(), at) {
			if entries[i].Score < float64(at.Add(-pruneAfter).UnixMilli()) {
				gone = append(gone, id)
			}
			continue
		}
		record, err := decodeConversation(op, id, texts[i].Val())
		if err != nil {
			return nil, nil, err
		}
		records = append(records, record)
	}
	return records, gone, nil
}

// newestFirst is the order of a list.
func newestFirst(a, b rondo.Conversation) int {
	if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
		return c
	}
	return strings.Compare(b.ExternalID, a.ExternalID)
}

// onPage reports whether a conversation comes after the place where a page begins.
func onPage(c *rondo.Conversation, page store.ConversationPage) bool {
	return page.Before.IsZero() || c.UpdatedAt.Before(page.Before) ||
		c.UpdatedAt.Equal(page.Before) && c.ExternalID < page.BeforeID
}

// beyond reports whether a conversation is newer than everything at or below a score.
func beyond(c *rondo.Conversation, lowest float64) bool {
	return float64(c.UpdatedAt.UnixMicro())/1000 > lowest
}
