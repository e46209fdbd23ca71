package sqlstore

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Plan is a Write as rows, in the order in which a driver must apply it: within
// each list rows ascend by key, and an instance that gives up its case is
// updated before its successor is inserted.
type Plan struct {
	// Token is a random number that the instances of this commit are stored with.
	// Numbers of versions repeat when a database loses commits (a failover, a
	// restore) and others are made in their place; tokens do not.
	Token      int64
	Updates    []InstanceUpdate
	Before     []Statement // what makes room for rows to add
	Inserts    []Insert    // tables with rows to add
	Rejudged   []Rejudged
	After      []Statement // what follows from events that are judged again
	Duplicates []Duplicate
	Sent       []int64
	Acks       []store.GroupState
	Outgoing   []rondo.Outgoing
}

// Statement is one for a case that is rare: its parameters are ?.
type Statement struct {
	Query string
	Args  []any
}

// Insert is the rows to add to one table.
type Insert struct {
	Table *Table
	Rows  [][]any
}

// InstanceUpdate replaces the instance whose stored version is Previous.
type InstanceUpdate struct {
	Row      []any // all columns of instances
	Previous int64
	// Moves says that only columns from MovingFrom on differ from what the batch has
	// loaded, and SameWake that wake_at, the first of them, does not either. A
	// driver whose database rewrites every index of a column that is assigned leaves
	// out what stays as it is.
	Moves, SameWake bool
}

// MovingRow is the row of Tables.Moving.
func (u *InstanceUpdate) MovingRow() []any {
	return slices.Concat(u.Row[:MutableFrom], u.Row[MovingFrom:])
}

// moves reports whether a case only went on: nothing that people filter or list by
// has changed.
func moves(before, after *rondo.Instance) bool {
	return before.ProductID == after.ProductID && before.DefinitionID == after.DefinitionID &&
		before.SnapshotHash == after.SnapshotHash && before.Mode == after.Mode && before.Status == after.Status &&
		before.HaltReason == after.HaltReason && before.HaltNote == after.HaltNote && before.HaltStepID == after.HaltStepID &&
		before.CancelledBy == after.CancelledBy && before.CancelledReason == after.CancelledReason &&
		before.DeadlineExceeded == after.DeadlineExceeded &&
		before.SupersedesID == after.SupersedesID && before.SupersededByID == after.SupersededByID &&
		before.StartedAt.Equal(after.StartedAt) && before.DeadlineAt.Equal(after.DeadlineAt) && before.CompletedAt.Equal(after.CompletedAt)
}

// Rejudged is a ledger row that was judged again.
type Rejudged struct {
	Key        rondo.EventKey
	CaseID     string
	Outcome    string
	InstanceID rondo.ID
	Processed  bool
	Verdict    string
	Error      string
}

// Duplicate is how often one event came again.
type Duplicate struct {
	Key   rondo.EventKey
	Times int64
}

// NewPlan turns a Write, decided upon what was loaded, into rows.
func NewPlan(t *Tables, loaded *store.Loaded, w *store.Write) (*Plan, error) {
	p := &Plan{Token: newToken(), Sent: w.Sent, Acks: w.Acks, Outgoing: w.Outbox}
	if err := p.instances(t, loaded, w.Instances); err != nil {
		return nil, err
	}
	p.insert(&t.Events, eventRows(w.Events))
	p.insert(&t.Steps, rowsOf(w.Steps, stepRow))
	p.insert(&t.Interventions, rowsOf(w.Interventions, interventionRow))
	p.insert(&t.DeadLetters, rowsOf(w.DeadLetters, deadLetterRow))
	p.insert(&t.JobResults, jobResultRows(w.JobResults))
	p.insert(&t.Parked, parkedRows(w.Events))
	p.insert(&t.Loose, looseRows(w.Events))
	p.attributes(t, w)
	p.rejudged(w.Rejudged)
	p.loosen()
	p.duplicates(w.Duplicates)
	return p, nil
}

// newToken is never 0, which rows have that were written before there were tokens.
func newToken() int64 { return 1 + rand.Int64N(math.MaxInt64) }

func (p *Plan) instances(t *Tables, loaded *store.Loaded, writes []store.InstanceWrite) error {
	var added [][]any
	for _, w := range writes {
		row, err := instanceRow(w.Instance, p.Token)
		if err != nil {
			return err
		}
		if w.Previous == 0 {
			added = append(added, row)
			continue
		}
		update := InstanceUpdate{Row: row, Previous: w.Previous}
		if before := loaded.Cases[w.Instance.Key()].Instance; before != nil && before.ID == w.Instance.ID {
			update.SameWake = Micros(before.WakeAt) == Micros(w.Instance.WakeAt)
			update.Moves = moves(before, w.Instance)
		}
		p.Updates = append(p.Updates, update)
	}
	slices.SortFunc(p.Updates, func(a, b InstanceUpdate) int { return compareFirst(a.Row, b.Row) })
	slices.SortFunc(added, compareFirst)
	p.insert(&t.Instances, added)
	return nil
}

func compareFirst(a, b []any) int {
	x, _ := a[0].([]byte)
	y, _ := b[0].([]byte)
	return bytes.Compare(x, y)
}

func (p *Plan) insert(t *Table, rows [][]any) {
	if len(rows) > 0 {
		p.Inserts = append(p.Inserts, Insert{Table: t, Rows: rows})
	}
}

func rowsOf[T any](items []T, row func(*T) []any) [][]any {
	if len(items) == 0 {
		return nil
	}
	rows := make([][]any, len(items))
	for i := range items {
		rows[i] = row(&items[i])
	}
	return rows
}

// eventRows ascend by key, so that two batches that bring the same event of two
// cases meet in the same order.
func eventRows(events []rondo.EventRecord) [][]any {
	if len(events) == 0 {
		return nil
	}
	order := make([]*rondo.EventRecord, len(events))
	for i := range events {
		order[i] = &events[i]
	}
	slices.SortFunc(order, func(a, b *rondo.EventRecord) int {
		return compareEvents(rondo.EventKey{OrgID: a.OrgID, EventID: a.EventID}, rondo.EventKey{OrgID: b.OrgID, EventID: b.EventID})
	})
	rows := make([][]any, len(order))
	for i, e := range order {
		rows[i] = eventRow(e)
	}
	return rows
}

func parkedRows(events []rondo.EventRecord) [][]any {
	var rows [][]any
	for i := range events {
		if e := &events[i]; e.Outcome == rondo.OutcomeParked {
			rows = append(rows, []any{e.OrgID, e.CaseID, ID(e.EventID)})
		}
	}
	return rows
}

func (p *Plan) rejudged(events []rondo.EventRecord) {
	for i := range events {
		e := &events[i]
		p.Rejudged = append(p.Rejudged, Rejudged{
			Key: rondo.EventKey{OrgID: e.OrgID, EventID: e.EventID}, CaseID: e.CaseID,
			Outcome: string(e.Outcome), InstanceID: e.InstanceID, Processed: e.Processed, Verdict: e.Verdict, Error: e.Error,
		})
	}
	// Of several verdicts on one event the last one counts: reversed, it is the
	// one that compacting keeps.
	slices.Reverse(p.Rejudged)
	slices.SortStableFunc(p.Rejudged, func(a, b Rejudged) int { return compareEvents(a.Key, b.Key) })
	p.Rejudged = slices.CompactFunc(p.Rejudged, func(a, b Rejudged) bool { return a.Key == b.Key })
}

// Parked reports whether the event waits again.
func (r *Rejudged) Parked() bool { return r.Outcome == string(rondo.OutcomeParked) }

func (p *Plan) duplicates(keys []rondo.EventKey) {
	if len(keys) == 0 {
		return
	}
	times := make(map[rondo.EventKey]int64, len(keys))
	for _, key := range keys {
		times[key]++
	}
	for key, n := range times {
		p.Duplicates = append(p.Duplicates, Duplicate{Key: key, Times: n})
	}
	slices.SortFunc(p.Duplicates, func(a, b Duplicate) int { return compareEvents(a.Key, b.Key) })
}

func compareEvents(a, b rondo.EventKey) int {
	return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), bytes.Compare(a.EventID[:], b.EventID[:]))
}

// Listened splits outgoing events into those that the log takes and the rest: a
// relayed event that no group listens to stays in the ledger only. It returns
// the indexes of those taken.
func Listened(outgoing []rondo.Outgoing, streams map[string]bool) []int {
	taken := make([]int, 0, len(outgoing))
	for i := range outgoing {
		if !outgoing[i].Relayed || streams[outgoing[i].Stream] {
			taken = append(taken, i)
		}
	}
	return taken
}

// OutboxRows are the rows for the outbox, in the order of the events.
func OutboxRows(outgoing []rondo.Outgoing) [][]any { return rowsOf(outgoing, outgoingRow) }

// LogRow is the row of one event for the log, numbered seq.
func LogRow(o *rondo.Outgoing, seq int64) []any {
	return append([]any{seq}, outgoingRow(o)...)
}

// CaseKeys returns the distinct keys in the order in which cases are locked.
func CaseKeys(keys []rondo.CaseKey) []rondo.CaseKey {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, func(a, b rondo.CaseKey) int {
		return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), cmp.Compare(a.CaseID, b.CaseID))
	})
	return slices.Compact(sorted)
}

// NewLoaded has an entry for every case of a load.
func NewLoaded(load store.Load) *store.Loaded {
	loaded := &store.Loaded{
		Cases:  make(map[rondo.CaseKey]store.CaseState, len(load.Cases)),
		Seen:   make(map[rondo.EventKey]store.SeenEvent),
		Active: make(map[store.StartKey]store.ActiveDefinition, len(load.Starts)),
	}
	for _, key := range load.Cases {
		loaded.Cases[key] = store.CaseState{}
	}
	return loaded
}

// Keep makes i the state of its case unless a newer instance is known: the one
// that is not cancelled, else the one with the highest id.
func Keep(loaded *store.Loaded, i *rondo.Instance) {
	state := loaded.Cases[i.Key()]
	if have := state.Instance; have != nil {
		cancelled := i.Status == rondo.StatusCancelled
		if have.Status != rondo.StatusCancelled || cancelled && bytes.Compare(i.ID[:], have.ID[:]) < 0 {
			return
		}
	}
	state.Instance = i
	loaded.Cases[i.Key()] = state
}

// KeepParked adds a parked event to its case; rows must come oldest first.
func KeepParked(loaded *store.Loaded, e rondo.EventRecord) {
	key := rondo.CaseKey{OrgID: e.OrgID, CaseID: e.CaseID}
	state := loaded.Cases[key]
	state.Parked = append(state.Parked, e)
	loaded.Cases[key] = state
}
