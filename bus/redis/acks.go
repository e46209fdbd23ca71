package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/internal/outage"
)

// Ack notes entries as done; they are sent with the next read or soon after.
// Acks of a closed consumer are refused: their entries come again.
func (c *consumer) Ack(_ context.Context, deliveries []bus.Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	c.mu.Lock()
	if c.isClosed {
		c.mu.Unlock()
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: "ack", Message: "the consumer is closed"}
	}
	for i := range deliveries {
		d := &deliveries[i]
		key, ok := c.keyOf[d.Stream]
		if !ok {
			continue // never delivered here
		}
		c.acks[key] = append(c.acks[key], d.EntryID)
	}
	c.mu.Unlock()
	signal(c.acked)
	return nil
}

// takeAcks returns the waiting acks by key; the caller sends them or puts them
// back.
func (c *consumer) takeAcks() map[string][]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.acks) == 0 {
		return nil
	}
	acks := c.acks
	c.acks = map[string][]any{}
	return acks
}

func (c *consumer) putBackAcks(acks map[string][]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, ids := range acks {
		c.acks[key] = append(c.acks[key], ids...)
	}
}

// addAcks puts acks into a pipeline, whose Exec returns their errors.
func (c *consumer) addAcks(ctx context.Context, pipe redis.Pipeliner, acks map[string][]any) {
	for key, ids := range acks {
		args := make([]any, 0, 3+len(ids))
		args = append(args, "xack", key, c.group)
		_ = pipe.Process(ctx, redis.NewIntCmd(ctx, append(args, ids...)...))
	}
}

// sendAcks sends acks on their own. Acks for a group that has vanished are done.
func (c *consumer) sendAcks(ctx context.Context, acks map[string][]any) error {
	if len(acks) == 0 {
		return nil
	}
	pipe := c.bus.client.Pipeline()
	c.addAcks(ctx, pipe, acks)
	if _, err := pipe.Exec(ctx); err != nil && !isLost(err) {
		return err
	}
	return nil
}

// runAcker sends the acks that no read took along within the pause.
func (c *consumer) runAcker(ctx context.Context, state outage.Log) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.acked:
		}
		sleep(ctx, c.bus.opts.AckPause)
		for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longPause) {
			acks := c.takeAcks()
			err := c.sendAcks(ctx, acks)
			state.Report(ctx, err)
			if err == nil {
				break
			}
			c.putBackAcks(acks)
			sleep(ctx, pause)
		}
	}
}
