package acceptance

import (
	"sync"
	"sync/atomic"
	"time"
)

// clock is real time that a test can move forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Advance lets time pass.
func (c *clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// bell wakes everyone who waits for something to happen.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

func newBell() *bell { return &bell{next: make(chan struct{})} }

// Ring wakes everyone who holds the channel of Next.
func (b *bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// Next is closed by the next Ring.
func (b *bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}
