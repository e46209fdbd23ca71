package flow

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

var update = flag.Bool("update", false, "rewrite the expected traces in testdata")

// TestScenarios plays every file of testdata/scenarios. A file is a txtar
// archive: its comment says what it shows and may name a template ("template:
// ai_only") and the case ("case: case-7"), an inline definition is in the file
// "definition", and the file "trace" holds commands, each followed by what it
// must lead to.
//
// Commands ("> " begins one, "#" a comment):
//
//	case.created {payload}     the case begins; words before the payload: relay, replay, product=…, occurred=-2h
//	complete STEP {payload}    the step's completed event with the correlation of its newest attempt;
//	                           STEP#2 names an attempt, corr=… and product=… replace what is sent
//	fail STEP {payload}        the step's failed event, likewise
//	event TYPE {payload}       any event
//	advance 90s                moves the clock and fires the timer
//	wait 90s                   moves the clock only
//	lost                       the bus has lost the requests
//	heal                       what the liveness sweeper does
//	claim 30s                  what a poller does: the stored wake-up moves to now + 30s
//	halt CODE [note] | resume [reason] | cancel [reason]
//	retry [STEP] [{input_override}] | skip STEP OUTCOME [{output}] | set-mode MODE | supersede [MODE]
//	done STEP OUTCOME [by=NAME] [{output}]   complete_step; by=NAME does it as an assignee only
//	migrate [OLD=NEW …]        to the file "target"; plan OLD=NEW … only shows what it would do
//	context                    shows the context
//	undefine                   from here on no definition is active
//	times 100 COMMAND          runs a command that often and shows what the last one led to
//
// Long text is written and shown as x*70000: that many x.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files {
		if archive.Files[i].Name != "trace" {
			continue
		}
		want := string(archive.Files[i].Data)
		w := newWorld(scenarioDefinition(t, archive))
		if name := setting(archive, "case"); name != "" {
			w.caseID = name
		}
		for _, file := range archive.Files {
			if file.Name == "target" {
				w.target = &Start{DefinitionID: namedID(9, 2), Snapshot: compiled(t, file.Data)}
			}
		}
		got := w.play(t, want)
		if got == want {
			return
		}
		if !*update {
			t.Fatalf("trace differs (run with -update to accept; -want +got):\n%s", cmp.Diff(want, got))
		}
		archive.Files[i].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no trace", file)
}

func scenarioDefinition(t *testing.T, archive *txtar.Archive) *definition.Snapshot {
	for _, file := range archive.Files {
		if file.Name == "definition" {
			return compiled(t, file.Data)
		}
	}
	return template(t, setting(archive, "template"))
}

// setting is the value of a "name: value" line in the comment of a scenario.
func setting(archive *txtar.Archive, name string) string {
	for line := range strings.Lines(string(archive.Comment)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// play runs the commands of a trace and writes the trace that results.
func (w *world) play(t *testing.T, script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			fmt.Fprintf(&b, "%s\n", line)
		case strings.HasPrefix(line, "> "):
			fmt.Fprintf(&b, "%s\n", line)
			if shown := w.command(t, strings.TrimPrefix(line, "> ")); shown != "" {
				fmt.Fprintf(&b, "%s\n", shown)
			}
		}
	}
	return b.String()
}

// command runs one line and shows what came of it.
func (w *world) command(t *testing.T, line string) string {
	words, payload := line, json.RawMessage("{}")
	if i := strings.IndexByte(line, '{'); i >= 0 {
		words, payload = line[:i], json.RawMessage(unfolded(t, line[i:]))
		if !json.Valid(payload) {
			t.Fatalf("not JSON: %s", line)
		}
	}
	args := strings.Fields(words)
	switch verb := args[0]; verb {
	case "case.created":
		return w.tell(t, w.inbound(verb, w.caseID, payload), args[1:])
	case "event":
		return w.tell(t, w.inbound(args[1], "c-outside", payload), args[2:])
	case "complete", "fail", "call-off":
		return w.tell(t, w.answer(t, verb, args[1], payload), args[2:])
	case "advance":
		w.pass(t, args[1])
		return w.show(w.do(t, Timer{}))
	case "lost":
		return w.show(w.do(t, Timer{Resend: true}))
	case "heal":
		return w.show(w.do(t, Timer{Heal: true}))
	case "wait":
		w.pass(t, args[1])
		return ""
	case "claim":
		lease, err := time.ParseDuration(args[1])
		if err != nil {
			t.Fatal(err)
		}
		w.state.Instance.WakeAt = w.now.Add(lease)
		return ""
	case "halt":
		return w.show(w.do(t, Command{Action: ActionHalt, By: "ann", ReasonCode: args[1], Note: strings.Join(args[2:], " ")}))
	case "retry", "skip", "set-mode", "supersede", "done", "migrate", "plan":
		if !strings.Contains(line, "{") {
			payload = nil
		}
		return w.intervene(t, verb, args[1:], payload)
	case "resume", "cancel", "dance":
		return w.show(w.do(t, Command{Action: verb, By: "ann", Reason: strings.Join(args[1:], " ")}))
	case "context":
		return indent(string(writeMembers(w.state.Instance.Context)))
	case "undefine":
		w.state.Start = nil
		return ""
	case "times":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			t.Fatal(err)
		}
		_, repeated, _ := strings.Cut(line, args[1]+" ")
		shown := ""
		for range n {
			shown = w.command(t, repeated)
		}
		return shown
	}
	t.Fatalf("unknown command: %s", line)
	return ""
}

func (w *world) pass(t *testing.T, text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(d)
}

// answer is the completed, failed or cancelled event of a step.
func (w *world) answer(t *testing.T, verb, name string, payload json.RawMessage) *event.Envelope {
	name, number, numbered := strings.Cut(name, "#")
	step := w.state.Start.Snapshot.Steps[name]
	if now := w.state.Snapshot; now != nil && now.Steps[name] != nil {
		step = now.Steps[name]
	}
	if step == nil {
		t.Fatalf("no step %s", name)
	}
	all := w.correlations[name]
	n := len(all)
	if numbered {
		n, _ = strconv.Atoi(number)
	}
	correlation := "c-outside"
	if n >= 1 && n <= len(all) {
		correlation = all[n-1]
	}
	eventType := step.Contract.Completed
	switch verb {
	case "fail":
		eventType = step.Contract.Failed
	case "call-off":
		eventType = step.Contract.Cancelled
	}
	return w.inbound(eventType, correlation, payload)
}

// tell sends an event after the options have changed it.
func (w *world) tell(t *testing.T, e *event.Envelope, options []string) string {
	in := Event{Envelope: e}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "relay":
			in.Relay = true
		case "replay":
			in.Replay = true
		case "product":
			e.ProductID = value
		case "corr":
			e.CorrelationID = value
		case "occurred":
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			e.OccurredAt = e.OccurredAt.Add(d)
		default:
			t.Fatalf("unknown option %q", option)
		}
	}
	in.Raw = e.Encode()
	return w.show(w.do(t, in))
}

// show writes a decision, one fact a line.
func (w *world) show(d Decision) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if d.Refused != nil {
		hint, fields := "", []rondo.FieldError(nil)
		if e, ok := errors.AsType[*rondo.Error](d.Refused); ok {
			hint, fields = e.Hint, e.Fields
		}
		say("refused %s: %s; %s", rondo.CodeOf(d.Refused), d.Refused, hint)
		for _, field := range fields {
			say("  %s %s %s", field.Pointer, field.Code, field.Message)
		}
		return indent(b.String())
	}
	if d.Event != nil {
		say("%s", showEvent(*d.Event))
	}
	for _, row := range d.Steps {
		say("%s", showRow(row))
	}
	for _, row := range d.Rejudged {
		kept := ""
		if row.Outcome == rondo.OutcomeParked {
			kept = " instance=" + row.InstanceID.String()
		}
		say("again %s%s", showEvent(row), kept)
	}
	if i := d.Replaced; i != nil {
		say("replaced %s", showInstance(i))
	}
	if i := d.Instance; i != nil {
		say("%s", showInstance(i))
		for _, fork := range i.Machine.Forks {
			say("fork%s %s", strings.TrimPrefix(showAttempt(fork.Attempt), "live"), showBranches(fork))
		}
		for _, att := range i.Machine.Live {
			say("%s", showAttempt(att))
		}
	}
	for _, attribute := range d.Attributes {
		say("attribute %s", showAttribute(attribute))
	}
	if d.Healed > 0 {
		say("healed %d", d.Healed)
	}
	for _, out := range d.Outbox {
		say("%s", showOutgoing(out))
	}
	if i := d.Intervention; i != nil {
		say("audit %s by %s%s", i.Action, i.PerformedBy, optionally(" because ", i.Reason))
		say("  before %s", i.Before)
		say("  after  %s", i.After)
	}
	if b.Len() == 0 {
		say("nothing")
	}
	return indent(b.String())
}

func showEvent(row rondo.EventRecord) string {
	return fmt.Sprintf("event %s %s %s%s%s", row.EventID, row.Type, row.Outcome, optionally(" verdict=", row.Verdict), optionally(" error=", row.Error))
}

func showRow(row rondo.Step) string {
	s := fmt.Sprintf("row %d %s #%d %s", row.Seq, row.StepID, row.Attempt, row.Status)
	s += optionally(" ", row.Outcome)
	switch row.Kind {
	case "condition", "halt", "delay", "wait_for_event", "parallel", "manual":
		s += optionally(" input=", string(row.Input))
	}
	return s + optionally(" output=", string(row.Output)) + optionally(" error=", string(row.Error))
}

func showInstance(i *rondo.Instance) string {
	s := fmt.Sprintf("instance %s v%d", i.Status, i.Version)
	if i.Mode != rondo.ModeActive {
		s += " " + string(i.Mode)
	}
	if i.HaltReason != "" {
		s += fmt.Sprintf(" reason=%s step=%s%s", i.HaltReason, i.HaltStepID, optionally(" note=", i.HaltNote))
	}
	if i.CancelledBy != "" {
		s += fmt.Sprintf(" by=%s%s", i.CancelledBy, optionally(" reason=", i.CancelledReason))
	}
	if i.DeadlineExceeded {
		s += " past-deadline"
	}
	return s + " wake=" + clock(i.WakeAt)
}

func showAttempt(att rondo.Attempt) string {
	s := fmt.Sprintf("live %s #%d %s corr=%s", att.StepID, att.Number, att.Status, att.CorrelationID)
	for _, timer := range []struct {
		name string
		at   time.Time
	}{{"due", att.DueAt}, {"timeout", att.TimeoutAt}, {"resend", att.ResendAt}, {"warn", att.SLA.WarnAt}, {"breach", att.SLA.BreachAt}} {
		if !timer.at.IsZero() {
			s += " " + timer.name + "=" + clock(timer.at)
		}
	}
	if att.Manual {
		s += " manual"
	}
	if att.Remaining > 0 {
		s += " left=" + att.Remaining.String()
	}
	if att.Fork != "" {
		s += " in=" + att.Fork + "/" + att.Branch
	}
	return s
}

func showBranches(fork rondo.Fork) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(fork.Branches)) {
		words = append(words, name+"="+fork.Branches[name])
	}
	return strings.Join(words, " ")
}

func showAttribute(attribute rondo.Attribute) string {
	s := attribute.Path
	for _, value := range attribute.Values {
		if s += " " + value.Text; value.IsNumber {
			s += fmt.Sprintf("(%v)", value.Number)
		}
	}
	return s
}

func showOutgoing(out rondo.Outgoing) string {
	e := envelopeOf(out.Envelope)
	if out.Relayed {
		return fmt.Sprintf("relay %s %s", out.EventID, out.Stream)
	}
	return fmt.Sprintf("send %s %s at=%s corr=%s%s %s", out.EventID, out.Stream, clock(e.OccurredAt), e.CorrelationID, optionally(" cause=", e.CausationID), e.Payload)
}

func optionally(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// envelopeOf reads an envelope that Rondo or the test itself wrote.
func envelopeOf(raw json.RawMessage) *event.Envelope {
	e, err := event.Parse(raw)
	if err != nil {
		return &event.Envelope{}
	}
	return e
}

var uuids = regexp.MustCompile(`0([129])000000-0000-7000-8000-([0-9a-f]{12})`)

var (
	foldedText = regexp.MustCompile(`x\*(\d+)`)
	longText   = regexp.MustCompile(`x{1000}x*`)
)

// unfolded writes out the long text of a command.
func unfolded(t *testing.T, s string) string {
	return foldedText.ReplaceAllStringFunc(s, func(short string) string {
		n, err := strconv.Atoi(short[len("x*"):])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat("x", n)
	})
}

// indent indents a trace, folds long text and gives ids the names of their families.
func indent(s string) string {
	s = uuids.ReplaceAllStringFunc(s, func(id string) string {
		n, err := strconv.ParseUint(id[24:], 16, 64)
		if err != nil {
			return id
		}
		return map[byte]string{'1': "id-", '2': "event-", '9': "definition-"}[id[1]] + strconv.FormatUint(n, 10)
	})
	s = longText.ReplaceAllStringFunc(s, func(long string) string { return "x*" + strconv.Itoa(len(long)) })
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ")
}
