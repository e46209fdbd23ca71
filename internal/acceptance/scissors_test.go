package acceptance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/store"
)

// errCut is what a replica gets from its store and bus once it is cut off.
var errCut = &rondo.Error{Code: rondo.CodeUnavailable, Message: "cut off by the test", Err: errors.New("cut off")}

// moment is a place in the life of a replica: just before or just after its n-th
// effect, counted from when the scissors were armed.
type moment struct {
	effect int
	before bool
}

// scissors cut one replica off from the world, as a crash does: from then on
// nothing that it does has an effect. Effects are commits and publishes.
type scissors struct {
	mu      sync.Mutex
	armed   moment // effect 0 = not armed
	effects int    // since armed
	doomed  bool   // the moment has come
	cut     bool
	onCut   func() // called once, without the lock
}

// arm makes the replica die at a moment.
func (s *scissors) arm(at moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.effects = at, 0
}

// disarm lets the replica live on, unless its moment has come already, which it
// reports.
func (s *scissors) disarm() (doomed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = moment{}
	return s.doomed
}

// isCut reports whether the replica is cut off.
func (s *scissors) isCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// snip cuts now.
func (s *scissors) snip() {
	s.mu.Lock()
	first := !s.cut
	s.cut = true
	s.mu.Unlock()
	if first && s.onCut != nil {
		s.onCut()
	}
}

// effect runs do, unless the replica is cut off before it, and reports an error
// when it is cut off before or after.
func (s *scissors) effect(do func() error) error {
	s.mu.Lock()
	s.effects++
	now := s.armed.effect > 0 && s.effects == s.armed.effect
	before := s.armed.before
	s.doomed = s.doomed || now
	cut := s.cut
	s.mu.Unlock()
	if cut {
		return errCut
	}
	if now && before {
		s.snip()
		return errCut
	}
	err := do()
	if now {
		s.snip()
		return errCut
	}
	return err
}

// quietly runs do unless the replica is cut off; it is not a moment to die at.
func (s *scissors) quietly(do func() error) error {
	if s.isCut() {
		return errCut
	}
	return do()
}

// cutStore is the store of a replica that can be cut off.
type cutStore struct {
	store.Store
	scissors *scissors
}

func (c cutStore) Update(ctx context.Context, load store.Load, decide store.Decide) (committed store.Committed, err error) {
	run := func() (err error) {
		committed, err = c.Store.Update(ctx, load, decide)
		return err
	}
	if len(load.Cases) == 0 {
		err = c.scissors.quietly(run)
	} else {
		err = c.scissors.effect(run)
	}
	return committed, err
}

func (c cutStore) ClaimDue(ctx context.Context, now time.Time, lease time.Duration, limit int) (due []rondo.CaseKey, err error) {
	err = c.scissors.quietly(func() error { due, err = c.Store.ClaimDue(ctx, now, lease, limit); return err })
	return due, err
}

func (c cutStore) ClaimUnsent(ctx context.Context, now, older time.Time, lease time.Duration, limit int, which store.Streams) (rows []rondo.Outgoing, err error) {
	err = c.scissors.quietly(func() error { rows, err = c.Store.ClaimUnsent(ctx, now, older, lease, limit, which); return err })
	return rows, err
}

func (c cutStore) MarkSent(ctx context.Context, seqs []int64) error {
	return c.scissors.quietly(func() error { return c.Store.MarkSent(ctx, seqs) })
}

func (c cutStore) LogLease(ctx context.Context, group, owner string, now time.Time, ttl time.Duration) (fence int64, ok bool, err error) {
	err = c.scissors.quietly(func() error { fence, ok, err = c.Store.LogLease(ctx, group, owner, now, ttl); return err })
	return fence, ok, err
}

func (c cutStore) LogRelease(ctx context.Context, group, owner string) error {
	return c.scissors.quietly(func() error { return c.Store.LogRelease(ctx, group, owner) })
}

func (c cutStore) LogAck(ctx context.Context, states []store.GroupState) error {
	return c.scissors.quietly(func() error { return c.Store.LogAck(ctx, states) })
}

func (c cutStore) CreateJob(ctx context.Context, job rondo.Job, items []rondo.JobItem) error {
	return c.scissors.quietly(func() error { return c.Store.CreateJob(ctx, job, items) })
}

func (c cutStore) ClaimJob(ctx context.Context, now time.Time, lease time.Duration) (job rondo.Job, ok bool, err error) {
	err = c.scissors.quietly(func() error { job, ok, err = c.Store.ClaimJob(ctx, now, lease); return err })
	return job, ok, err
}

func (c cutStore) RenewJob(ctx context.Context, id rondo.ID, now time.Time, lease time.Duration) error {
	return c.scissors.quietly(func() error { return c.Store.RenewJob(ctx, id, now, lease) })
}

func (c cutStore) FinishJob(ctx context.Context, id rondo.ID, now time.Time) error {
	return c.scissors.quietly(func() error { return c.Store.FinishJob(ctx, id, now) })
}

func (c cutStore) KeepAnswer(ctx context.Context, answer rondo.Answer) error {
	return c.scissors.quietly(func() error { return c.Store.KeepAnswer(ctx, answer) })
}

// cutBus is the external bus of a replica that can be cut off. What a dead
// replica had taken and not acked comes again soon: tests do not wait a minute.
type cutBus struct {
	bus.Bus
	scissors *scissors
	ackWait  time.Duration
	acking   func(bus.Delivery) // told of every ack before it is given
}

func (c cutBus) Publish(ctx context.Context, messages []bus.Message) error {
	return c.scissors.effect(func() error { return c.Bus.Publish(ctx, messages) })
}

// Lag and Retire are asked of the bus below, which has groups on every ground.
func (c cutBus) Lag(ctx context.Context) (map[string][]bus.GroupLag, error) {
	return c.Bus.(bus.Groups).Lag(ctx)
}

func (c cutBus) Retire(ctx context.Context, group string) error {
	return c.scissors.quietly(func() error { return c.Bus.(bus.Groups).Retire(ctx, group) })
}

func (c cutBus) Subscribe(ctx context.Context, sub bus.Subscription) (bus.Consumer, error) {
	sub.AckWait = c.ackWait
	consumer, err := c.Bus.Subscribe(ctx, sub)
	return cutConsumer{consumer, c.scissors, c.acking}, err
}

type cutConsumer struct {
	bus.Consumer
	scissors *scissors
	acking   func(bus.Delivery)
}

func (c cutConsumer) Ack(ctx context.Context, deliveries []bus.Delivery) error {
	for _, d := range deliveries {
		c.acking(d)
	}
	return c.scissors.quietly(func() error { return c.Consumer.Ack(ctx, deliveries) })
}
