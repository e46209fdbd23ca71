package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/internal/invariant"
	"github.com/rondo-engine/rondo/store/memory"
)

const (
	org     = "org"
	product = "product"
)

// world is one schedule: everything that lives outside the replicas, and the
// replicas.
type world struct {
	rand    *rand.Rand
	now     time.Time
	ids     *rondo.IDs
	lib     *library
	mistake Mistake
	faults  faults
	healing bool // no more faults: only the checks are left

	store     *memory.Store
	guarded   *guardedStore
	snapshots *caseloop.Snapshots
	net       *network
	module    *module
	replicas  []*replica
	cases     []string
	starts    int // of replicas, all together
	chosen    libraryEntry
	upgrade   *flow.Start // the next version, once it is published
	sabotaged bool        // timers were taken away: the sweeper has something to find

	committedOutbox map[rondo.ID]bool
	committedOrder  map[string][]rondo.ID // replica, instance and stream → events, in commit order
	committer       map[rondo.ID]string   // event → the replica that committed it
	handedOver      map[rondo.ID]bool     // events that another replica has swept up or asked with again
	lastReplica     map[string]int        // case → the replica that moved it last

	reached    Coverage
	violations []invariant.Violation
}

// faults are the chances of this schedule; each schedule draws its own, so that
// quiet and stormy weather both occur.
type faults struct {
	crash, commit, ambiguous, publish, duplicate, delay, slow, silent, failure, nonsense float64
}

func newWorld(seed uint64, lib *library, snapshots *caseloop.Snapshots, mistake Mistake) *world {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), lib: lib, snapshots: snapshots, mistake: mistake,
		now:             time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		committedOutbox: map[rondo.ID]bool{}, committedOrder: map[string][]rondo.ID{},
		committer: map[rondo.ID]string{}, handedOver: map[rondo.ID]bool{}, lastReplica: map[string]int{},
	}
	w.ids = rondo.NewSeededIDs(func() time.Time { return w.now }, w.bytes)
	w.faults = faults{
		crash: w.upTo(0.06), commit: w.upTo(0.08), ambiguous: w.upTo(0.12), publish: w.upTo(0.12), duplicate: w.upTo(0.25), delay: w.upTo(0.3),
		slow: w.upTo(0.4), silent: w.upTo(0.1), failure: w.upTo(0.5), nonsense: w.upTo(0.05),
	}
	w.store = memory.Open(memory.Options{})
	w.guarded = &guardedStore{Store: w.store, w: w}
	w.net = &network{w: w, sent: map[rondo.ID]int{}, firsts: map[string][]rondo.ID{}, streams: map[string]bool{}}
	w.module = &module{w: w, answers: map[string]bus.Message{}, silent: map[string]bool{}}
	return w
}

func (w *world) upTo(most float64) float64 { return w.rand.Float64() * most }

func (w *world) chance(p float64) bool {
	if w.healing || p <= 0 {
		return false
	}
	return w.rand.Float64() < p
}

func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rand.Int64N(int64(b-a)))
}

func (w *world) bytes(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, w.rand.Uint64())
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(w.rand.Uint32())
	}
}

func (w *world) broken(name, format string, args ...any) {
	if len(w.violations) < 10 {
		w.violations = append(w.violations, invariant.Violation{Invariant: name, Detail: fmt.Sprintf(format, args...)})
	}
}

// crash is what a replica panics with when it dies between two effects.
type crash struct{ at string }

// effect marks a point between two effects: the working replica may die here.
func (w *world) effect(at string) {
	if w.chance(w.faults.crash) {
		panic(crash{at})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
