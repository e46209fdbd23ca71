package redis

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

const (
	// senders is how many pipelines are under way at once: while one is answered
	// another is written.
	senders = 4
	// batchJobs bounds how many calls share a pipeline, and so how long the first of
	// them waits for the last.
	batchJobs = 128
)

// batch lets calls that come at the same time share pipelines to one server, which
// saves both sides most of their system calls. A lone call is sent at once; when all
// senders are busy, calls gather. A sender is a goroutine that lives while there is
// something to send.
type batch struct {
	client redis.UniversalClient
	work   sync.WaitGroup

	mu      sync.Mutex
	running int
	closed  bool
	waiting []*job
}

// job is the commands of one call, in order. They belong to the sender until done
// is closed.
type job struct {
	commands []redis.Cmder
	done     chan struct{}
}

// do sends commands and waits for their answers, which are in the commands. It
// returns an error only when ctx ended first; then the commands must not be looked
// at, and sent says whether they may have left.
func (b *batch) do(ctx context.Context, commands ...redis.Cmder) (sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	own := &job{commands: commands, done: make(chan struct{})}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false, redis.ErrClosed
	}
	b.waiting = append(b.waiting, own)
	if b.running < senders {
		b.running++
		b.work.Go(b.send)
	}
	b.mu.Unlock()
	select {
	case <-own.done:
		return true, nil
	case <-ctx.Done():
		return !b.withdraw(own), ctx.Err()
	}
}

// withdraw takes back what has not been sent.
func (b *batch) withdraw(own *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, own)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// send sends what has gathered until there is nothing. It carries the calls of many
// and so is bound to the context of none: the client's timeouts end it.
func (b *batch) send() {
	ctx := context.Background()
	for {
		jobs := b.take()
		if len(jobs) == 0 {
			return
		}
		pipe := b.client.Pipeline()
		for _, j := range jobs {
			for _, command := range j.commands {
				_ = pipe.Process(ctx, command) // each command has its own error
			}
		}
		_, _ = pipe.Exec(ctx)
		for _, j := range jobs {
			close(j.done)
		}
	}
}

// take is what the next pipeline carries; a sender that gets nothing is at its end.
func (b *batch) take() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), batchJobs)
	if n == 0 {
		b.running--
		return nil
	}
	jobs := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return jobs
}

// close lets nothing more in and waits for what is under way.
func (b *batch) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.work.Wait()
}
