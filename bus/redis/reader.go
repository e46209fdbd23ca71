package redis

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/internal/outage"
)

const (
	// blockTime is how long a read waits in the server. It bounds how long Close
	// takes, as a blocked read cannot be called back.
	blockTime = 200 * time.Millisecond
	// readBytes is about how much one read should bring.
	readBytes = 8 << 20

	firstPause = 20 * time.Millisecond
	longPause  = time.Second
)

// reader is the goroutine of a consumer that reads and claims while a Fetch
// waits.
type reader struct {
	*consumer
	state   outage.Log
	pause   time.Duration // after the last failure
	count   int           // entries to ask for per stream
	average int           // bytes of an entry, lately
	claimAt time.Time     // when to look for entries of others
	claims  []claim       // claim pages still to be asked for
}

func (r *reader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.work:
		}
		for ctx.Err() == nil {
			limit := r.wanted()
			if limit == 0 {
				break
			}
			r.once(ctx, limit)
		}
	}
}

// once claims or reads, and waits a little when that fails.
func (r *reader) once(ctx context.Context, limit int) {
	start := time.Now()
	deliveries, err := r.claimDue(ctx, start, limit)
	if err == nil && len(deliveries) == 0 {
		deliveries, err = r.read(ctx, start, limit)
	}
	if isLost(err) {
		err = r.recreate(ctx)
	}
	r.state.Report(ctx, err)
	if err != nil {
		r.pause = min(max(firstPause, r.pause*2), longPause)
		sleep(ctx, r.pause)
		return
	}
	r.pause = 0
	r.offer(deliveries, start)
}

// read sends waiting acks and asks for new entries, in one pipeline.
func (r *reader) read(ctx context.Context, now time.Time, limit int) ([]bus.Delivery, error) {
	acks := r.takeAcks()
	pipe := r.bus.client.Pipeline()
	r.addAcks(ctx, pipe, acks)
	block := max(min(blockTime, r.claimAt.Sub(now)), time.Millisecond)
	args := make([]any, 0, 9+2*len(r.keys))
	args = append(args, "xreadgroup", "group", r.group, r.name, "count", r.nextCount(limit), "block", block.Milliseconds(), "streams")
	for _, key := range r.keys {
		args = append(args, key)
	}
	for range r.keys {
		args = append(args, ">")
	}
	read := redis.NewCmd(ctx, args...)
	_ = pipe.Process(ctx, read)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		r.putBackAcks(acks)
		return nil, err
	}
	reply, err := read.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	deliveries, fullest, err := parseRead(reply, r.types)
	r.learn(deliveries, fullest)
	return deliveries, err
}

// nextCount is how many entries to ask of each stream. The server counts per
// stream, so it begins with a fair share of the limit and doubles while a stream
// has more.
func (r *reader) nextCount(limit int) int {
	fair := max(limit/len(r.keys), 1)
	count := min(max(r.count, fair), limit)
	if r.average > 0 {
		count = min(count, max(readBytes/r.average, 1))
	}
	r.count = count
	return count
}

// learn adapts count and average to what a read brought.
func (r *reader) learn(deliveries []bus.Delivery, fullest int) {
	if len(deliveries) == 0 {
		r.count = 0
		return
	}
	bytes := 0
	for i := range deliveries {
		bytes += len(deliveries[i].Envelope)
	}
	r.average = bytes / len(deliveries)
	if fullest >= r.count {
		r.count *= 2
	}
}

// isLost reports whether the server says that a stream or group is gone.
func isLost(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.HasPrefix(text, "NOGROUP") || strings.HasPrefix(text, "UNBLOCKED")
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
