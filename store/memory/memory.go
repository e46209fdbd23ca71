// Package memory is the executable specification of package store: a driver
// that keeps everything in one process, under one mutex, in the plainest way
// that keeps every guarantee of the port. Tests, the simulation and trials run
// on it; the other drivers are right when they behave like it.
//
// Nothing that a caller holds is shared with the store: structs, slices and maps
// are copied in and out. JSON and bodies are immutable by convention, in the
// whole program, so their bytes are shared and not copied: whoever wants other
// bytes makes a new slice. Results never depend on the order of a Go map, so the
// same calls give the same answers on every run.
//
// A Store has no life of its own: an engine that crashes and starts again on the
// same value finds everything that was committed. It imports the root package
// and the port only.
package memory

import (
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var (
	_ store.Store         = (*Store)(nil)
	_ store.Conversations = (*Store)(nil)
	_ store.Runs          = (*Store)(nil)
)

// Options say how a store is opened.
type Options struct {
	// Embedded writes Write.Outbox to the Log, for the embedded bus, instead of
	// the Outbox. Default false.
	Embedded bool
}

// Store keeps everything in memory. It is safe for concurrent use.
type Store struct {
	embedded bool

	mu          sync.Mutex // guards everything below
	cases       map[rondo.CaseKey]*caseRow
	instances   map[rondo.ID]*instanceRow
	byID        []*instanceRow // every instance, ascending by id
	waking      map[rondo.ID]*instanceRow
	events      map[rondo.EventKey]*rondo.EventRecord
	deadLetters []rondo.DeadLetter // ascending by id
	outbox      outbox
	log         log
	definitions definitions
	reasonCodes map[reasonKey]rondo.ReasonCode
	stepKinds   map[kindKey][]rondo.StepKind     // ascending by version
	jobs        []*jobRow                        // ascending by id
	retention   map[string]rondo.RetentionPolicy // by org
	answers     map[answerKey]rondo.Answer
	launched    time.Time

	conversations map[string]*conversationRow
	keys          map[store.ConversationKey]*keyRow

	runs runs
}

// Open returns an empty store.
func Open(opts Options) *Store {
	return &Store{
		embedded:    opts.Embedded,
		cases:       map[rondo.CaseKey]*caseRow{},
		instances:   map[rondo.ID]*instanceRow{},
		waking:      map[rondo.ID]*instanceRow{},
		events:      map[rondo.EventKey]*rondo.EventRecord{},
		log:         log{groups: map[string]*logGroup{}, streams: map[string]int{}},
		definitions: definitions{byID: map[rondo.ID]*definitionRow{}, snapshots: map[string][]byte{}},
		reasonCodes: map[reasonKey]rondo.ReasonCode{},
		stepKinds:   map[kindKey][]rondo.StepKind{},
		retention:   map[string]rondo.RetentionPolicy{},
		answers:     map[answerKey]rondo.Answer{},

		conversations: map[string]*conversationRow{},
		keys:          map[store.ConversationKey]*keyRow{},

		runs: newRuns(),
	}
}

// caseRow is what is stored about one case.
type caseRow struct {
	instances []*instanceRow       // ascending by id
	events    []*rondo.EventRecord // ascending by id
}

// instanceRow is an instance with what belongs to it alone.
type instanceRow struct {
	instance      rondo.Instance
	steps         []rondo.Step         // ascending by Seq
	interventions []rondo.Intervention // ascending by id
	attributes    map[string][]rondo.AttributeValue
}

// newest is the instance that a case is about now.
func (c *caseRow) newest() *instanceRow {
	var newest *instanceRow
	for _, row := range c.instances {
		if row.instance.Status != rondo.StatusCancelled {
			return row
		}
		newest = row
	}
	return newest
}
