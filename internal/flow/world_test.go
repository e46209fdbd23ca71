package flow

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// epoch is when every test world begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	testOrg     = "org-1"
	testCase    = "case-1"
	testProduct = "product-1"
)

// world is one case and everything that was ever decided for it. After each
// decision it checks what must always hold.
type world struct {
	state         State
	now           time.Time
	made          uint64 // ids made by Rondo
	sent          uint64 // ids of events from outside
	caseID        string
	rows          []rondo.Step
	outbox        []rondo.Outgoing
	ledger        []rondo.EventRecord
	interventions []rondo.Intervention
	correlations  map[string][]string // step → correlation id of each attempt
	base          map[string]string   // the context as it was at the start
	target        *Start              // what migrate goes to
	migrations    []migration
	observed      bool // the case was client-driven at some time: rows have the ids that were seen
}

// migration is what one migration renamed, and how many rows had the old names.
type migration struct {
	from     *definition.Snapshot
	Renamed  map[string]string `json:"renamed"`
	Finished int               `json:"finished_rows"`
}

func newWorld(snapshot *definition.Snapshot) *world {
	return &world{
		now:          epoch,
		caseID:       testCase,
		state:        State{Start: &Start{DefinitionID: namedID(9, 1), Snapshot: snapshot}, Launched: epoch.Add(-time.Hour)},
		correlations: map[string][]string{},
	}
}

// namedID is the n-th id of a family: what traces show as id-1, event-1 ….
func namedID(family byte, n uint64) rondo.ID {
	var id rondo.ID
	binary.BigEndian.PutUint64(id[8:], n)
	id[0] = family
	id[6] = 0x70
	id[8] = 0x80
	return id
}

func (w *world) env() Env {
	return Env{
		Now:    w.now,
		NewID:  func() rondo.ID { w.made++; return namedID(1, w.made) },
		Jitter: func() float64 { return 0.5 },
		Known:  func(eventType string) bool { return event.Known(eventType) || eventType == "ext.other" },
	}
}

// inbound is an event of the case, as a module would send it.
func (w *world) inbound(eventType, correlation string, payload json.RawMessage) *event.Envelope {
	w.sent++
	return &event.Envelope{
		EventID: namedID(2, w.sent), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: w.now,
		CorrelationID: correlation, CaseID: w.caseID, OrgID: testOrg, ProductID: testProduct, Payload: payload,
	}
}

// do decides one input, checks the decision and takes it as committed.
func (w *world) do(t fataler, in Input) Decision {
	t.Helper()
	before := w.state
	given := frozenState(before)
	d := Decide(w.state, in, w.env())
	if diff := cmp.Diff(given, frozenState(before)); diff != "" {
		t.Fatalf("Decide changed the state it was given (-before +after):\n%s", diff)
	}
	if d.Refused != nil {
		if rest := (Decision{Refused: d.Refused}); !cmp.Equal(d, rest, cmpopts.EquateErrors()) {
			t.Fatalf("a refused command must decide nothing else: %+v", d)
		}
		return d
	}
	w.checkChange(t, before.Instance, d)
	w.commit(t, d)
	w.checkAlways(t)
	return d
}

// commit does what an engine does: it keeps the rows and reloads the instance.
func (w *world) commit(t fataler, d Decision) {
	t.Helper()
	if d.Replaced != nil {
		w.leave(t, d)
	} else {
		w.rows = append(w.rows, d.Steps...)
	}
	w.outbox = append(w.outbox, d.Outbox...)
	if d.Intervention != nil {
		w.interventions = append(w.interventions, *d.Intervention)
	}
	if d.Instance != nil {
		if d.Created {
			w.state.Snapshot = w.state.Start.Snapshot
			w.base = map[string]string{}
			for _, name := range []string{"case_id", "org_id", "product_id", "patient_id", "case"} {
				w.base[name] = plain(d.Instance.Context[name])
			}
		}
		if hash := d.Instance.SnapshotHash; w.target != nil && hash == w.target.Snapshot.Hash && hash != w.state.Snapshot.Hash {
			w.migrate(t, d)
		}
		w.state.Instance = reloaded(t, d.Instance)
		w.observed = w.observed || d.Instance.Mode == rondo.ModeClientDriven
	}
	for _, row := range d.Rejudged {
		i := slices.IndexFunc(w.state.Parked, func(p rondo.EventRecord) bool { return p.EventID == row.EventID })
		if i < 0 || row.Processed == (row.Outcome == rondo.OutcomeParked) {
			t.Fatalf("rejudged an event that was not parked, or was before: %+v", row)
		}
		if row.Outcome == rondo.OutcomeParked {
			if was := w.state.Parked[i]; was.InstanceID == row.InstanceID && was.Verdict == row.Verdict {
				t.Fatalf("nothing is new about the parked event %+v", row)
			}
			w.state.Parked = slices.Concat(w.state.Parked[:i], []rondo.EventRecord{row}, w.state.Parked[i+1:])
		} else {
			w.state.Parked = slices.Concat(w.state.Parked[:i], w.state.Parked[i+1:])
		}
		j := slices.IndexFunc(w.ledger, func(p rondo.EventRecord) bool { return p.EventID == row.EventID })
		w.ledger[j] = row
	}
	if d.Event != nil {
		w.ledger = append(w.ledger, *d.Event)
		if d.Event.Outcome == rondo.OutcomeParked {
			w.state.Parked = slices.Concat(w.state.Parked, []rondo.EventRecord{*d.Event})
		}
	}
	w.remember()
}

// leave checks the instance that another one replaces and forgets its rows.
func (w *world) leave(t fataler, d Decision) {
	t.Helper()
	old := d.Replaced
	if old.Status != rondo.StatusCancelled || len(old.Machine.Live)+len(old.Machine.Forks) > 0 || !old.WakeAt.IsZero() {
		t.Fatalf("the replaced instance is %s and has something open: %+v", old.Status, old.Machine)
	}
	if d.Instance.SupersedesID != old.ID || old.SupersededByID != d.Instance.ID || old.CancelledReason != "superseded_by:"+d.Instance.ID.String() {
		t.Fatalf("the instances do not name each other: %+v %+v", old, d.Instance)
	}
	w.rows, w.correlations, w.migrations = nil, map[string][]string{}, nil
	for _, row := range d.Steps {
		if row.InstanceID == d.Instance.ID {
			w.rows = append(w.rows, row)
		}
	}
}

// migrate remembers what a migration renamed.
func (w *world) migrate(t fataler, d Decision) {
	t.Helper()
	moved := migration{from: w.state.Snapshot}
	if err := json.Unmarshal(d.Intervention.After, &moved); err != nil {
		t.Fatalf("the record of a migration cannot be read: %v", err)
	}
	w.migrations = append(w.migrations, moved)
	w.state.Snapshot = w.target.Snapshot
}

// nameNow is what the step of a row is called after all migrations.
func (w *world) nameNow(row rondo.Step) string {
	name := row.StepID
	for _, m := range w.migrations {
		if to, ok := m.Renamed[name]; ok && row.Seq <= m.Finished {
			name = to
		}
	}
	return name
}

// stepOf finds the definition of a step that may have been removed since.
func (w *world) stepOf(stepID string) *definition.Step {
	if step := w.state.Snapshot.Steps[stepID]; step != nil {
		return step
	}
	for _, m := range w.migrations {
		if step := m.from.Steps[stepID]; step != nil {
			return step
		}
	}
	return &definition.Step{Contract: &definition.Contract{}}
}

// remember keeps the correlation id of every attempt, also of ended ones.
func (w *world) remember() {
	keep := func(stepID string, number int, correlation string) {
		for len(w.correlations[stepID]) < number {
			w.correlations[stepID] = append(w.correlations[stepID], "")
		}
		w.correlations[stepID][number-1] = correlation
	}
	for _, row := range w.rows {
		keep(row.StepID, row.Attempt, row.CorrelationID)
	}
	if w.state.Instance != nil {
		for _, att := range openAttempts(w.state.Instance) {
			keep(att.StepID, att.Number, att.CorrelationID)
		}
	}
}

// reloaded is the instance as a store would give it back.
func reloaded(t fataler, inst *rondo.Instance) *rondo.Instance {
	t.Helper()
	raw, err := json.Marshal(inst)
	if err != nil {
		t.Fatalf("store instance: %v", err)
	}
	loaded := new(rondo.Instance)
	if err := json.Unmarshal(raw, loaded); err != nil {
		t.Fatalf("load instance: %v", err)
	}
	return loaded
}

// frozenState is a deep copy of the parts of a state that could be changed.
func frozenState(s State) string {
	raw, err := json.Marshal(struct {
		Instance *rondo.Instance
		Parked   []rondo.EventRecord
		Capacity int
	}{s.Instance, s.Parked, cap(s.Parked)})
	if err != nil {
		return "cannot be written: " + err.Error()
	}
	return string(raw)
}

// fataler is what *testing.T and *rapid.T have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ fataler = (*testing.T)(nil)

// template compiles a shipped template.
func template(t fataler, name string) *definition.Snapshot {
	t.Helper()
	for _, draft := range definition.Templates() {
		if draft.Name == name {
			return compiled(t, draft.Body)
		}
	}
	t.Fatalf("there is no template %q", name)
	return nil
}

// compiled makes a snapshot from a definition in any accepted syntax, after the
// rules of publishing.
func compiled(t fataler, source []byte) *definition.Snapshot {
	t.Helper()
	draft, err := definition.ParseDraft(source)
	if err != nil {
		t.Fatalf("parse definition: %v", err)
	}
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes(), Kinds: testKinds()}
	if report := definition.Validate(draft.Body, env); len(report.Errors) > 0 {
		t.Fatalf("definition is not valid: %+v", report.Errors)
	}
	document, _, err := definition.Freeze(draft.Body, env)
	if err != nil {
		t.Fatalf("freeze: %v", err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return snapshot
}

// testKinds are an organisation's own kinds: one that merges and picks, one
// whose outcomes do not cover every output, and one that asks with the case
// eleven times over.
func testKinds() []rondo.StepKind {
	kind := func(name, contract string) rondo.StepKind {
		return rondo.StepKind{OrgID: testOrg, Name: name, Version: 1, Contract: json.RawMessage(contract), Status: "active"}
	}
	copies := make([]string, 0, 11)
	for i := range cap(copies) {
		copies = append(copies, fmt.Sprintf(`"copy_%d": {"context": "case"}`, i))
	}
	return []rondo.StepKind{
		kind("copy_case", `{
			"behaviour": "request",
			"events": {"requested": "ext.copy.requested", "completed": "ext.copy.completed", "failed": "ext.copy.failed"},
			"params_schema": {"type": "object"},
			"request": {`+strings.Join(copies, ", ")+`},
			"output_schema": {"type": "object"},
			"outcomes": [{"outcome": "on_complete"}],
			"failure_halt_code": "step_failed",
			"client": {"module": "copy", "endpoint": "POST /copy"}
		}`),
		kind("no_op", `{
			"behaviour": "request",
			"events": {"requested": "ext.noop.requested", "completed": "ext.noop.completed", "failed": "ext.noop.failed"},
			"params_schema": {"type": "object"},
			"request": {"case": {"context": "case_id", "required": true}},
			"output_schema": {"type": "object", "properties": {"note": {"type": "string"}}},
			"outcomes": [{"outcome": "on_complete"}],
			"failure_halt_code": "step_failed",
			"client": {"module": "noop", "endpoint": "POST /noop"}
		}`),
		kind("credit_check", `{
			"behaviour": "request",
			"events": {"requested": "ext.credit.requested", "completed": "ext.credit.completed", "failed": "ext.credit.failed"},
			"params_schema": {"type": "object", "properties": {"limits": {"type": "object"}, "mark": {"type": "string"}}},
			"request": {
				"limits": {"merge": [{"const": {"low": 1, "high": 2}}, {"param": "limits"}]},
				"who": {"pick": {"from": {"context": "case.metadata"}, "keys": ["name", "age", "name"]}},
				"mark": {"param": "mark"},
				"vip": {"context": "case.metadata.vip"}
			},
			"output_schema": {"type": "object", "properties": {"score": {"type": "number"}}},
			"outcomes": [
				{"when": "output.score >= 50", "outcome": "on_good"},
				{"when": "output.score < 10", "outcome": "on_bad"}
			],
			"failure_halt_code": "step_failed",
			"client": {"module": "credit", "endpoint": "POST /credit"}
		}`),
	}
}

// clock shows a time as its distance from the start of the world.
func clock(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	text := at.Sub(epoch).String()
	for _, tail := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(text, tail); ok {
			text = short + tail[:1]
		}
	}
	return "+" + text
}
