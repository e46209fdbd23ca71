package runs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
)

// shard drives a part of the runs. One goroutine decides and commits for all of
// them; whatever takes long is done elsewhere and comes back as an input.
type shard struct {
	s     *Service
	index int

	mu      sync.Mutex
	inbox   []input
	wake    chan struct{} // holds one: there is something to look at
	drained chan struct{} // closed when the service stops and nothing is at work here
	idle    sync.Once
	away    atomic.Bool // the store does not take a commit: nothing new is begun

	// Of the loop alone.
	term    *tenure
	runs    map[rondo.ID]*driven
	ready   []ref
	queue   slotQueue
	waits   map[flight][]ref // who waits for a flight
	flying  map[flight]bool  // flights that this shard holds or is about to take
	working map[*attempt]struct{}
	alarms  alarms
	dirty   []*driven // with something to commit
	waiting int
	written int       // bytes of results in the next commit
	lookAt  time.Time // when to ask for flights of others; zero = nobody waits
	watchAt time.Time // when the first skill at work should have ended; zero = none
	spare   []input
}

// flight names a flight across tenants.
type flight struct{ tenant, name string }

// input is something that happened. It is applied by the loop.
type input interface {
	apply(ctx context.Context, sh *shard)
}

const (
	roundsAtOnce = 64   // levels of reused steps between two commits
	gatherAtMost = 4096 // inputs of one turn
)

func newShard(s *Service, index int) *shard {
	return &shard{
		s: s, index: index, wake: make(chan struct{}, 1), drained: make(chan struct{}),
		runs: map[rondo.ID]*driven{}, queue: slotQueue{byName: map[string]*tenantQueue{}},
		waits: map[flight][]ref{}, flying: map[flight]bool{}, working: map[*attempt]struct{}{},
	}
}

// post gives the loop something to apply.
func (sh *shard) post(in input) {
	sh.mu.Lock()
	sh.inbox = append(sh.inbox, in)
	sh.mu.Unlock()
	sh.nudge()
}

// nudge makes the loop look.
func (sh *shard) nudge() {
	select {
	case sh.wake <- struct{}{}:
	default:
	}
}

// loop turns until ctx ends. What is at work then is cancelled and not recorded.
func (sh *shard) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer sh.refuseAll(ctx)
	defer sh.dropAll()
	for ctx.Err() == nil {
		timer.Reset(sh.untilNext())
		select {
		case <-ctx.Done():
			return
		case <-sh.wake:
		case <-timer.C:
		}
		sh.turn(ctx)
		sh.restIfStopped()
	}
}

// untilNext is how long the loop may sleep when nothing happens.
func (sh *shard) untilNext() time.Duration {
	next := time.Time{}
	for _, at := range [...]time.Time{sh.lookAt, sh.watchAt} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if len(sh.alarms) > 0 && (next.IsZero() || sh.alarms[0].at.Before(next)) {
		next = sh.alarms[0].at
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(next.Sub(sh.s.now()), 0)
}

// turn applies what happened, decides, commits, and acts on what was committed.
func (sh *shard) turn(ctx context.Context) {
	in := sh.gather()
	if term := sh.s.term.Load(); term != sh.term { // after gather: no input is of a later tenure
		sh.dropAll()
		sh.term = term
	}
	lasts := sh.term.lasts(sh.s.now())
	if !lasts {
		sh.dropAll()
		sh.s.lapse(sh.term)
	}
	for i, happened := range in {
		if sh.written > commitBytes {
			sh.putBack(in[i:])
			clear(in[i:])
			break
		}
		happened.apply(ctx, sh)
		in[i] = nil
	}
	sh.spare = in[:0]
	now := sh.s.now()
	sh.watchWork(now)
	if !lasts {
		return
	}
	sh.ring(now)
	sh.lookForFlights(ctx, now)
	for round := 0; len(sh.ready) > 0 && round < roundsAtOnce && sh.written <= commitBytes; round++ {
		sh.settle(ctx)
	}
	sh.dispatch()
	sh.commit(ctx)
	if len(sh.ready) > 0 {
		sh.nudge()
	}
	sh.s.cfg.Observer.Load(sh.index, len(sh.runs), len(sh.working), sh.queue.steps, sh.waiting)
}

// restIfStopped tells Stop when nothing is at work here any more.
func (sh *shard) restIfStopped() {
	if sh.s.stopping.Load() && len(sh.working) == 0 && len(sh.dirty) == 0 {
		sh.idle.Do(func() { close(sh.drained) })
	}
}

// gather takes the inputs. While skills are at work it lets them go on for as long
// as they bring more: a hundred that end at once are one commit.
func (sh *shard) gather() []input {
	seen := -1
	for {
		sh.mu.Lock()
		if n := len(sh.inbox); n == seen || n >= gatherAtMost || n >= len(sh.working) {
			in := sh.inbox
			sh.inbox = sh.spare
			sh.spare = nil
			sh.mu.Unlock()
			return in
		}
		seen = len(sh.inbox)
		sh.mu.Unlock()
		runtime.Gosched()
	}
}

// mark puts a run into the next commit.
func (sh *shard) mark(d *driven) {
	if !d.dirty {
		d.dirty = true
		sh.dirty = append(sh.dirty, d)
	}
}

// makeReady lets steps be looked up.
func (sh *shard) makeReady(d *driven, steps ...int) {
	for _, i := range steps {
		d.step(i).phase = phaseReady
		sh.ready = append(sh.ready, ref{d, i})
	}
}

// ring acts on what is due.
func (sh *shard) ring(now time.Time) {
	for a := sh.alarms.due(now); a != nil; a = sh.alarms.due(now) {
		if a.d.gone || a.d.closed {
			continue
		}
		if a.step < 0 {
			sh.cancelRun(a.d, "the case that started it waits no longer")
			continue
		}
		switch st := a.d.steps[a.step]; st.phase {
		case phaseBackoff:
			if st.held {
				sh.enqueue(a.d, a.step)
				continue
			}
			sh.makeReady(a.d, a.step)
		case phaseRemote:
			sh.attemptFailed(a.d, a.step, timedOut(a.at))
		}
	}
}

// watchWork gives up skills that go on although their time is over.
func (sh *shard) watchWork(now time.Time) {
	if sh.watchAt.IsZero() || now.Before(sh.watchAt) {
		return
	}
	sh.watchAt = time.Time{}
	for a := range sh.working {
		if now.Before(a.giveUp) {
			sh.watchUntil(a.giveUp)
			continue
		}
		sh.s.log.Error("a skill does not end; it is left alone and its step goes on", "run", a.call.RunID, "step", a.call.StepID, "skill", a.call.Skill)
		a.giveSlot()
		delete(sh.working, a)
		if !a.d.gone && !a.d.closed && a.d.steps[a.step].work == a {
			sh.attemptFailed(a.d, a.step, timedOut(a.call.Deadline))
		}
	}
}

func (sh *shard) watchUntil(end time.Time) {
	if sh.watchAt.IsZero() || end.Before(sh.watchAt) {
		sh.watchAt = end
	}
}

// drop lets a run go without writing anything: it is another's, or will be.
func (sh *shard) drop(d *driven, why error) {
	if d.gone {
		return
	}
	d.gone = true
	sh.release(d)
	for _, reply := range d.next.replies {
		reply(nil, why)
	}
	d.next = pending{}
}

// release frees everything in memory that a run holds.
func (sh *shard) release(d *driven) {
	d.closed = true
	sh.queue.remove(d)
	sh.alarms.drop(d.alarm)
	for i, st := range d.steps {
		if st != nil {
			sh.letGo(d, i, st)
		}
	}
	sh.s.held.Add(-d.bytes)
	d.bytes = 0
	if sh.runs[d.run.ID] == d {
		delete(sh.runs, d.run.ID)
		sh.s.roster.add(d.run.TenantID, -1)
	}
}

// letGo ends what a step is doing in memory.
func (sh *shard) letGo(d *driven, i int, st *stepState) {
	sh.endRemote(d, st)
	if st.work != nil {
		st.work.cancel()
		st.work.giveUp = sh.s.now().Add(sh.s.cfg.Grace)
		sh.watchUntil(st.work.giveUp)
		st.work = nil
	}
	f := flight{d.run.TenantID, st.name}
	switch st.phase {
	case phaseWaiting:
		sh.stopWaiting(f, ref{d, i})
	case phaseTaking:
		if !d.remoteStep(i) {
			sh.s.slots.give(d.run.TenantID)
		}
		sh.freed(f)
	case phaseWorking, phaseRemote:
		sh.freed(f)
	default:
		if st.held {
			sh.freed(f)
		}
	}
	st.phase, st.held = phaseCancelled, false
}

// dropAll lets everything go: the tenure is over.
func (sh *shard) dropAll() {
	for _, d := range sh.runs {
		sh.drop(d, errLapsed)
	}
	sh.ready, sh.dirty = nil, nil
	sh.queue = slotQueue{byName: map[string]*tenantQueue{}}
	clear(sh.waits)
	clear(sh.flying)
	sh.alarms, sh.waiting, sh.written = nil, 0, 0
	sh.lookAt = time.Time{}
}

// refuseAll answers whoever still waits for a loop that has ended.
func (sh *shard) refuseAll(ctx context.Context) {
	sh.mu.Lock()
	in := sh.inbox
	sh.inbox = nil
	sh.mu.Unlock()
	sh.term.over.Store(true)
	for _, happened := range in {
		happened.apply(ctx, sh)
	}
}

var errLapsed = &rondo.Error{
	Code: rondo.CodeUnavailable, Message: "this process does not drive runs at the moment",
	Hint: "try again",
}
