package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// createGroups makes sure that the group exists on every stream, from the start
// of the stream, and returns the streams where it did not.
func (c *consumer) createGroups(ctx context.Context) (created []string, err error) {
	pipe := c.bus.client.Pipeline()
	results := make([]*redis.StatusCmd, len(c.keys))
	for i, key := range c.keys {
		results[i] = pipe.XGroupCreateMkStream(ctx, key, c.group, "0")
	}
	_, _ = pipe.Exec(ctx) // each result has its own error
	for i, result := range results {
		switch err := result.Err(); {
		case err == nil:
			created = append(created, c.streams[i])
		case !strings.HasPrefix(err.Error(), "BUSYGROUP"):
			return created, err
		}
	}
	return created, nil
}

// recreate brings vanished groups back and tells about it.
func (c *consumer) recreate(ctx context.Context) error {
	created, err := c.createGroups(ctx)
	for _, stream := range created {
		c.bus.opts.Log.WarnContext(ctx, "a consumer group had vanished from Redis and was created again", "group", c.group, "stream", stream)
		if c.bus.opts.OnLost != nil {
			c.bus.opts.OnLost(stream)
		}
	}
	return err
}

// releasePage is how many pending entries are handed over at a time.
const releasePage = 1000

// release makes the entries that this consumer has not acked claimable at once,
// by making them look idle for longer than AckWait.
func (c *consumer) release(ctx context.Context) error {
	var failed error
	for _, key := range c.keys {
		for start := "-"; ; {
			pending, err := c.bus.client.XPendingExt(ctx, &redis.XPendingExtArgs{
				Stream: key, Group: c.group, Start: start, End: "+", Count: releasePage, Consumer: c.name,
			}).Result()
			if err != nil {
				if !isLost(err) && !errors.Is(err, redis.Nil) {
					failed = errors.Join(failed, err)
				}
				break
			}
			if len(pending) == 0 {
				break
			}
			args := []any{"xclaim", key, c.group, c.name, 0}
			for _, p := range pending {
				args = append(args, p.ID)
			}
			args = append(args, "idle", (2 * c.ackWait).Milliseconds(), "justid")
			if err := c.bus.client.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
				failed = errors.Join(failed, err)
				break
			}
			if len(pending) < releasePage {
				break
			}
			start = "(" + pending[len(pending)-1].ID
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// retireScript removes a consumer from a group unless it has pending entries,
// which would be lost with it.
//
//	KEYS[1]  the stream
//	ARGV[1]  the group
//	ARGV[2]  the consumer
//	returns  1 when it was removed, 0 when it stays
const retireScript = `
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #pending > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1`

// retire removes this consumer where it holds nothing.
func (c *consumer) retire(ctx context.Context) error {
	pipe := c.bus.client.Pipeline()
	results := make([]*redis.Cmd, len(c.keys))
	for i, key := range c.keys {
		results[i] = pipe.Eval(ctx, retireScript, []string{key}, c.group, c.name)
	}
	_, _ = pipe.Exec(ctx) // each result has its own error
	for _, result := range results {
		if err := result.Err(); err != nil && !strings.Contains(err.Error(), "NOGROUP") {
			return err
		}
	}
	return nil
}
