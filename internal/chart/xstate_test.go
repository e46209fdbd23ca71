package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

const comparedMachines = 2000

// seen is one step of a machine as both sides tell it.
type seen struct {
	Value   any            `json:"value"`
	Context map[string]any `json:"context"`
	Status  string         `json:"status"`
	Output  any            `json:"output"`
	Timers  []seenTimer    `json:"timers"`
	Effects []seenEffect   `json:"effects"`
	Error   string         `json:"error"`
}

type seenTimer struct {
	Event string `json:"event"`
	Due   int64  `json:"due"`
}

type seenEffect struct {
	EventType string `json:"eventType"`
	Payload   any    `json:"payload"`
}

// play is a machine with what happens to it, as tools/xstate/run.mjs reads it.
type play struct {
	Config        json.RawMessage            `json:"config"`
	Context       map[string]json.RawMessage `json:"context,omitempty"`
	Steps         []playStep                 `json:"steps"`
	MaxIterations int                        `json:"maxIterations"`
	told          []seen
}

type playStep struct {
	At      int64           `json:"at"`
	Type    string          `json:"type,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Fire    string          `json:"fire,omitempty"` // event of the timer
}

// The reference is XState itself, of the version that tools/xstate pins.
func TestRandomMachinesDoWhatTheyDoInXState(t *testing.T) {
	t.Parallel()
	runner := xstateRunner(t)
	random := rand.New(rand.NewPCG(1, 20))
	plays := make([]play, 0, comparedMachines)
	refused := 0
	for len(plays) < comparedMachines {
		g := generator{rand: random}
		config := g.machine()
		m, problems := Compile([]byte(config))
		if m == nil {
			// XState takes targets that cannot be active together; nothing else of this
			// generator is refused.
			for _, p := range problems {
				if p.Code != "bad_target" && p.Code != "bad_initial" {
					t.Fatalf("%v\n%s", p, config)
				}
			}
			if refused++; refused > 3*comparedMachines {
				t.Fatal("nearly all machines are refused: the generator is of no use")
			}
			continue
		}
		plays = append(plays, drive(t, m, config, random))
	}
	compare(t, runner, plays)
}

// What the scenarios say is what XState does, where they do not say otherwise.
func TestScenariosDoWhatTheyDoInXState(t *testing.T) {
	t.Parallel()
	runner := xstateRunner(t)
	var plays []play
	for name, s := range scenarios(t) {
		if s.XState != nil && !*s.XState {
			continue
		}
		m, problems := Compile(s.Config)
		if len(problems) > 0 {
			t.Fatal(name, problems)
		}
		p := play{Config: s.Config, Steps: []playStep{}, MaxIterations: MaxMicrosteps}
		result, err := m.Start(nil, Scope{Now: time.UnixMilli(0)})
		p.told = append(p.told, tell(t, result, err))
		for _, step := range s.Steps {
			var sent playStep
			if sent, result, err = perform(m, result.Snapshot, step); sent.Fire == "" && sent.Type == "" {
				continue // no such timer: XState would never hear of it
			}
			p.Steps = append(p.Steps, sent)
			p.told = append(p.told, tell(t, result, err))
		}
		plays = append(plays, p)
	}
	for _, diff := range differences(t, runner, plays) {
		t.Error(diff)
	}
}

// perform takes one step of a scenario and says it as XState's side needs it.
func perform(m *Machine, s Snapshot, step scenarioStep) (playStep, Result, error) {
	scope := Scope{Now: time.UnixMilli(step.At)}
	if step.Fire == "" {
		result, err := m.Send(s, Event{Type: step.Send, Payload: step.Payload}, scope)
		return playStep{At: step.At, Type: step.Send, Payload: step.Payload}, result, err
	}
	sent := playStep{At: step.At}
	for _, timer := range s.Timers {
		if timer.ID == step.Fire {
			sent.Fire = timer.Event
		}
	}
	result, err := m.Fire(s, step.Fire, scope)
	return sent, result, err
}

// xstateRunner finds node and XState, or skips where they are not required.
func xstateRunner(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "tools", "xstate")
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "xstate"))
	}
	if err != nil && os.Getenv("RONDO_TEST_REQUIRE") != "1" {
		t.Skip("XState is not there: install node and run npm ci in tools/xstate")
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "run.mjs")
}

// drive runs a machine with random events and timers and writes down what it did.
// Each step goes on from a snapshot that was written and read again.
func drive(t *testing.T, m *Machine, config string, random *rand.Rand) play {
	t.Helper()
	p := play{Config: json.RawMessage(config), Steps: []playStep{}, MaxIterations: 100}
	at := int64(0)
	result, err := m.Start(nil, Scope{Now: time.UnixMilli(0)})
	p.told = append(p.told, tell(t, result, err))
	for range 12 {
		if err != nil || result.Snapshot.Status == Done {
			break
		}
		at += int64(random.IntN(50))
		before := reread(t, result.Snapshot)
		step := playStep{At: at}
		if timers := before.Timers; len(timers) > 0 && random.IntN(3) == 0 {
			timer := timers[random.IntN(len(timers))]
			step.Fire = timer.Event
			result, err = m.Fire(before, timer.ID, Scope{Now: time.UnixMilli(at)})
		} else {
			step.Type = someEvents[random.IntN(len(someEvents))]
			step.Payload = json.RawMessage(fmt.Sprintf(`{"v":%d}`, random.IntN(4)))
			result, err = m.Send(before, Event{Type: step.Type, Payload: step.Payload}, Scope{Now: time.UnixMilli(at)})
		}
		p.Steps = append(p.Steps, step)
		p.told = append(p.told, tell(t, result, err))
	}
	return p
}

func reread(t testing.TB, s Snapshot) Snapshot {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Snapshot
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func tell(t *testing.T, r Result, err error) seen {
	t.Helper()
	if err != nil {
		if rondo.CodeOf(err) != rondo.CodeWorkflowLogic {
			t.Fatal(err)
		}
		return seen{Error: err.Error()}
	}
	s := seen{Status: r.Snapshot.Status, Context: map[string]any{}, Timers: []seenTimer{}, Effects: []seenEffect{}}
	s.Value = decode(t, r.Snapshot.Value)
	if r.Snapshot.Output != nil {
		s.Output = decode(t, r.Snapshot.Output)
	}
	for name, raw := range r.Snapshot.Context {
		s.Context[name] = decode(t, raw)
	}
	for _, timer := range r.Snapshot.Timers {
		s.Timers = append(s.Timers, seenTimer{Event: timer.Event, Due: timer.DueAt.UnixMilli()})
	}
	slices.SortFunc(s.Timers, func(a, b seenTimer) int { return strings.Compare(a.Event, b.Event) })
	for _, e := range r.Effects {
		s.Effects = append(s.Effects, seenEffect{EventType: e.EventType, Payload: decode(t, e.Payload)})
	}
	return s
}

func decode(t testing.TB, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// compare plays everything in XState and shows the smallest differences.
func compare(t *testing.T, runner string, plays []play) {
	t.Helper()
	steps, failed := 0, 0
	for _, p := range plays {
		steps += len(p.told)
		if p.told[len(p.told)-1].Error != "" {
			failed++
		}
	}
	t.Logf("%d machines, %d steps; %d machines never came to rest", len(plays), steps, failed)
	if steps < 5*len(plays) || failed > len(plays)/3 {
		t.Errorf("%d steps, %d failures: the machines are too dull to compare", steps, failed)
	}
	different := differences(t, runner, plays)
	slices.SortFunc(different, func(a, b string) int { return len(a) - len(b) })
	for _, diff := range different[:min(2, len(different))] {
		t.Error(diff)
	}
	if len(different) > 0 {
		t.Errorf("%d of %d machines differ", len(different), len(plays))
	}
}

// differences plays everything in XState and describes each machine that does
// something else there.
func differences(t *testing.T, runner string, plays []play) []string {
	t.Helper()
	var input bytes.Buffer
	for _, p := range plays {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(raw, '\n'))
	}
	node := exec.CommandContext(t.Context(), "node", filepath.Base(runner))
	node.Dir = filepath.Dir(runner)
	node.Stdin = &input
	var complaints bytes.Buffer
	node.Stderr = &complaints
	output, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, complaints.String())
	}
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	if len(lines) != len(plays) {
		t.Fatalf("XState answered %d of %d machines\n%s", len(lines), len(plays), complaints.String())
	}
	var different []string
	for i, line := range lines {
		var answer struct {
			Steps []seen `json:"steps"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		if diff := difference(plays[i], answer.Steps); diff != "" {
			different = append(different, diff)
		}
	}
	return different
}

// difference compares step by step; which limit stopped a machine that never comes
// to rest does not matter.
func difference(p play, answers []seen) string {
	for i, want := range answers {
		if i >= len(p.told) {
			return fmt.Sprintf("XState goes on after step %d\n%s", i, p.Config)
		}
		got := p.told[i]
		if got.Error != "" && want.Error != "" {
			return ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			steps, _ := json.Marshal(p.Steps[:i])
			return fmt.Sprintf("after %s (-XState +Rondo)\n%s\n%s", steps, diff, p.Config)
		}
	}
	if len(answers) < len(p.told) {
		return fmt.Sprintf("XState stops after step %d\n%s", len(answers), p.Config)
	}
	return ""
}
