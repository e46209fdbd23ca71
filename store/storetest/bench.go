package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Benchmark measures Update on realistic transitions, in batches of several
// sizes and with one and two writers. A transition is one inbound event (500
// bytes), one finished step (200 bytes of output), one instance update (1.5 KB of
// context), one outgoing event (400 bytes) and the removal of one that was sent.
// A case ends with its fifth transition and another starts in the same
// transaction, so that the figures include one start per five transitions. open
// returns an empty store that is not migrated.
func Benchmark(b *testing.B, open func(b *testing.B, opts Options) store.Store) {
	for _, opts := range []Options{{}, embedded} {
		for _, writers := range []int{1, 2} {
			for _, size := range []int{1, 8, 32, 128} {
				b.Run(fmt.Sprintf("embedded=%v/writers=%d/batch=%d", opts.Embedded, writers, size), func(b *testing.B) {
					s := open(b, opts)
					if err := s.Migrate(b.Context()); err != nil {
						b.Fatal(err)
					}
					benchmarkUpdate(b, s, writers, size)
				})
			}
		}
	}
}

// poolSize is how many cases are live at once.
const poolSize = 1000

func benchmarkUpdate(b *testing.B, s store.Store, writers, size int) {
	pools := make([]*casePool, writers)
	for i := range pools {
		pools[i] = newCasePool(b, s, i, poolSize/writers)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for _, pool := range pools {
		wait.Go(func() {
			for left.Add(-int64(size)) > -int64(size) {
				if err := pool.advance(b.Context(), size); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "transitions/s")
}

// casePool is the live cases of one writer.
type casePool struct {
	store store.Store
	ids   *rondo.IDs
	rand  *rand.Rand
	name  int
	made  int
	live  []*rondo.Instance
	sent  []int64
	def   rondo.ID
}

func newCasePool(b *testing.B, s store.Store, name, size int) *casePool {
	b.Helper()
	p := &casePool{
		store: s, name: name, rand: rand.New(rand.NewPCG(uint64(name), 7)),
		ids: rondo.NewIDs(time.Now),
	}
	p.def = p.ids.New()
	for len(p.live) < size {
		write := &store.Write{}
		for range min(100, size-len(p.live)) {
			p.live = append(p.live, p.start(write))
		}
		if _, err := s.Update(b.Context(), loadFor(write), func(*store.Loaded) (*store.Write, error) { return write, nil }); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

func (p *casePool) start(write *store.Write) *rondo.Instance {
	p.made++
	now := time.Now().UTC()
	i := &rondo.Instance{
		ID: p.ids.New(), OrgID: "acme", CaseID: fmt.Sprintf("case-%d-%08d", p.name, p.made), ProductID: "derma",
		DefinitionID: p.def, SnapshotHash: strings.Repeat("ab", 32), Mode: rondo.ModeActive, Status: rondo.StatusRunning,
		StartedAt: now, DeadlineAt: now.Add(30 * 24 * time.Hour), WakeAt: now.Add(time.Minute), Version: 1,
		Context: rondo.Context{"case_id": json.RawMessage(`"c"`), "case": benchDocument(1100)},
		Machine: benchMachine(p.ids, 1, now),
	}
	write.Instances = append(write.Instances, store.InstanceWrite{Instance: i})
	return i
}

func benchMachine(ids *rondo.IDs, step int, now time.Time) rondo.Machine {
	name := fmt.Sprintf("step_%d", step)
	return rondo.Machine{
		Live: []rondo.Attempt{{
			RowID: ids.New(), StepID: name, Kind: "set_case_status", Status: rondo.StepInProgress, Number: 1,
			CorrelationID: ids.New().String(), Input: json.RawMessage(`{"status":"open"}`), StartedAt: now,
			TimeoutAt: now.Add(time.Minute), RequestID: ids.New(), ResendAt: now.Add(time.Minute),
		}},
		Steps:    map[string]rondo.StepLife{name: {Attempts: 1}},
		Finished: step - 1,
	}
}

// benchDocument is a JSON object of about n bytes.
func benchDocument(n int) json.RawMessage {
	return json.RawMessage(`{"text":"` + strings.Repeat("lorem ipsum ", n/12) + `"}`)
}

// advance moves size cases one step each, in one batch.
func (p *casePool) advance(ctx context.Context, size int) error {
	for i := range size {
		j := i + p.rand.IntN(len(p.live)-i)
		p.live[i], p.live[j] = p.live[j], p.live[i]
	}
	write := &store.Write{Sent: p.sent}
	load := store.Load{}
	next := make([]*rondo.Instance, size)
	now := time.Now().UTC()
	for n := range size {
		eventID := p.ids.New()
		load.Cases = append(load.Cases, p.live[n].Key())
		load.Events = append(load.Events, rondo.EventKey{OrgID: p.live[n].OrgID, EventID: eventID})
		if p.live[n].Version == 5 {
			next[n] = p.start(write)
			load.Cases = append(load.Cases, next[n].Key())
			load.Starts = append(load.Starts, store.StartKey{OrgID: next[n].OrgID, ProductID: next[n].ProductID})
		}
	}
	events := load.Events
	committed, err := p.store.Update(ctx, load, func(loaded *store.Loaded) (*store.Write, error) {
		for n := range size {
			p.transition(write, loaded.Cases[p.live[n].Key()].Instance, events[n].EventID, now)
		}
		return write, nil
	})
	if err != nil {
		return err
	}
	p.sent = committed.Seqs
	for n := range size {
		if next[n] == nil {
			next[n] = write.Instances[len(write.Instances)-size+n].Instance
		}
		p.live[n] = next[n]
	}
	return nil
}

func (p *casePool) transition(write *store.Write, before *rondo.Instance, eventID rondo.ID, now time.Time) {
	after := *before
	after.Version++
	step := fmt.Sprintf("step_%d", before.Version)
	after.Context = rondo.Context{step: benchDocument(200)}
	for name, value := range before.Context {
		if !strings.HasPrefix(name, "step_") {
			after.Context[name] = value
		}
	}
	after.Machine = benchMachine(p.ids, int(after.Version), now)
	after.WakeAt = now.Add(time.Minute)
	if after.Version == 6 {
		after.Status, after.CompletedAt, after.WakeAt, after.Machine = rondo.StatusCompleted, now, time.Time{}, rondo.Machine{}
	}
	write.Instances = append(write.Instances, store.InstanceWrite{Instance: &after, Previous: before.Version})
	write.Steps = append(write.Steps, rondo.Step{
		ID: p.ids.New(), OrgID: after.OrgID, InstanceID: after.ID, StepID: step, Kind: "set_case_status", Status: rondo.StepCompleted,
		Attempt: 1, Seq: int(before.Version), StartedAt: now, CompletedAt: now, Input: json.RawMessage(`{"status":"open"}`),
		Output: benchDocument(200), CorrelationID: p.ids.New().String(), Outcome: "on_complete",
	})
	write.Events = append(write.Events, rondo.EventRecord{
		ID: p.ids.New(), OrgID: after.OrgID, EventID: eventID, CaseID: after.CaseID, InstanceID: after.ID,
		Type: "case.set_status.completed", Envelope: benchDocument(500), ReceivedAt: now, Processed: true, Outcome: rondo.OutcomeApplied,
	})
	write.Outbox = append(write.Outbox, rondo.Outgoing{
		Stream: "case.set_status.requested", OrgID: after.OrgID, EventID: p.ids.New(), InstanceID: after.ID,
		Envelope: benchDocument(400), CreatedAt: now,
	})
}
