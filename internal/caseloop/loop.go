package caseloop

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
)

// Sizes of a Loop whose options do not say, and the largest batch there is.
const (
	defaultShards = 2
	defaultBatch  = 128
	defaultQueue  = 4096
	patience      = 2 * time.Second // how long Do waits for room in the queue
	maxBatch      = 1024
)

// Loop runs a Processor on shards: a case always belongs to the same shard, so
// inputs of one case are applied in the order they came, and shards commit side
// by side.
type Loop struct {
	processor *Processor
	batch     int
	seed      maphash.Seed
	shards    []*queue

	stop context.CancelFunc
	done sync.WaitGroup
}

// LoopOptions sizes a Loop; the zero value works.
type LoopOptions struct {
	Shards int // writers side by side. Default 2.
	Batch  int // inputs in one commit at most. Default 128, at most 1024.
	Queue  int // inputs waiting per shard before Submit blocks. Default 4096.
}

// NewLoop returns a loop that is not running yet.
func NewLoop(processor *Processor, opts LoopOptions) *Loop {
	if opts.Shards <= 0 {
		opts.Shards = defaultShards
	}
	if opts.Batch <= 0 {
		opts.Batch = defaultBatch
	}
	if opts.Queue <= 0 {
		opts.Queue = defaultQueue
	}
	l := &Loop{processor: processor, batch: min(opts.Batch, maxBatch), seed: maphash.MakeSeed()}
	for range opts.Shards {
		l.shards = append(l.shards, newQueue(opts.Queue))
	}
	return l
}

// Start runs the shards until Stop.
func (l *Loop) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	for _, q := range l.shards {
		l.done.Go(func() {
			for {
				inputs := q.Take(l.batch)
				if inputs == nil {
					return
				}
				l.processor.Apply(ctx, inputs)
			}
		})
	}
}

// Submit queues an input, waiting for room until ctx ends: that is the engine's
// back-pressure. It returns once the input is queued; the input's Done is called
// after its commit.
func (l *Loop) Submit(ctx context.Context, in *Input) error {
	if l.shard(in.Key).Push(ctx, in) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return &rondo.Error{Code: rondo.CodeOverloaded, Message: "the engine has more work queued than it takes in", Hint: "try again shortly", Err: err}
	}
	return &rondo.Error{Code: rondo.CodeUnavailable, Message: "the engine is stopping", Hint: "try again shortly"}
}

// Do submits an input and waits for its result. When there is no room for it
// soon, it is refused, so that callers learn about overload instead of piling up.
func (l *Loop) Do(ctx context.Context, in *Input) Result {
	answer := make(chan Result, 1)
	in.Done = func(r Result) { answer <- r }
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.Submit(soon, in); err != nil {
		return Result{Err: err}
	}
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		return Result{Err: &rondo.Error{
			Code: rondo.CodeUnavailable, Message: "gave up waiting for the commit; it may still happen",
			Hint: "read the case to see, or send the same event again: it is applied once", Err: ctx.Err(),
		}}
	}
}

// Stop takes no more inputs, commits what is queued, and returns when the shards
// have ended. When ctx ends first, the commits under way are abandoned.
func (l *Loop) Stop(ctx context.Context) {
	for _, q := range l.shards {
		q.Close()
	}
	release := context.AfterFunc(ctx, l.stop)
	defer release()
	l.done.Wait()
	l.stop()
}

func (l *Loop) shard(key rondo.CaseKey) *queue {
	if len(l.shards) == 1 {
		return l.shards[0]
	}
	return l.shards[maphash.Comparable(l.seed, key)%uint64(len(l.shards))]
}
