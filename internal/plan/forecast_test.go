package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// world is a run service without I/O: a cache and a skill that gives one of a few
// values for each input, so that different inputs often give the same.
type world struct {
	cache  map[string]*rondo.CacheEntry
	values uint32
	now    time.Time
	runs   byte
}

func (wo *world) skill(step string, input json.RawMessage) json.RawMessage {
	canonical, err := canonicalOf(input)
	if err != nil {
		canonical = input
	}
	sum := sha256.Sum256(append([]byte(step), canonical...))
	return json.RawMessage(fmt.Sprintf(`{"value":%d,"other":%d}`, binary.BigEndian.Uint32(sum[:])%wo.values, sum[4]%2))
}

// outcome is how a step of a run ended: ran, reused, failed or never.
type outcome struct {
	how    string
	reason rondo.Reason
	stale  bool
	keyed  Keyed
	out    Output
}

// fataler is a test, or a case of a property.
type fataler interface{ Fatal(args ...any) }

// execute runs what the input says, as an engine does.
func (wo *world) execute(t fataler, in ForecastInput) []outcome {
	w := in.Workflow
	wo.runs++
	run := rondo.ID{wo.runs}
	outcomes := make([]outcome, len(w.Steps))
	linked, candidates := Link(in)
	for _, l := range linked {
		outcomes[l.Step] = outcome{how: "reused", reason: rondo.Reason{Code: rondo.ReasonBase}, stale: l.StaleInput, out: l.Base.Output()}
	}
	schedule := NewSchedule(w, in.Options.FailurePolicy)
	ready := schedule.Resume(func(i int) (done, ran bool) { return !candidates[i], false })
	sources := in.sources(func(i int) (Output, bool) { return outcomes[i].out, outcomes[i].out.Data != nil })
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		o := &outcomes[i]
		input, err := w.Resolve(i, sources)
		if err != nil {
			o.how = "failed"
			schedule.Fail(i)
			continue
		}
		o.keyed = w.Key(i, in.Tenant, run, input)
		wo.decide(in, i, o, input, schedule.UpstreamRan(i))
		if o.how == "failed" {
			schedule.Fail(i)
			continue
		}
		ready = append(ready, schedule.Done(i, o.how == "ran")...)
	}
	if _, _, ended := schedule.Ended(); !ended {
		t.Fatal("the run does not end")
	}
	return outcomes
}

func (wo *world) decide(in ForecastInput, i int, o *outcome, input json.RawMessage, upstream bool) {
	s := &in.Workflow.Steps[i]
	q := Question{
		Mode: ModeOf(in.Options, s.ID), Forced: in.Options.Force && slices.Contains(in.Seeds, i), Rebuild: RebuildOf(in.Change, in.All),
		Keyed: o.keyed, BaseKey: in.Base[s.ID].CacheKey, UpstreamRan: upstream, Now: wo.now,
	}
	if m, err := DecodeManifest(in.Base[s.ID].Manifest); err == nil && len(m.Components) > 0 {
		q.Previous = &m
	}
	verdict := Decide(s, q)
	if verdict.Act == ActLookup {
		q.Found = &Found{Entry: wo.cache[o.keyed.Key], ArtifactsPresent: true}
		verdict = Decide(s, q)
	}
	o.reason = verdict.Reason
	switch verdict.Act {
	case ActReuse:
		o.how, o.out = "reused", Output{Data: q.Found.Entry.Data, Hash: q.Found.Entry.OutputHash}
	case ActRun:
		data := wo.skill(s.ID, input)
		o.how, o.out = "ran", Output{Data: data, Hash: OutputHash(data, nil)}
		if verdict.Write {
			wo.cache[o.keyed.Key] = &rondo.CacheEntry{Key: o.keyed.Key, Data: data, OutputHash: o.out.Hash}
		}
	default:
		o.how = "failed"
	}
}

// base makes the rows of a run that others can build on; nil when it failed.
func (wo *world) base(w *Workflow, outcomes []outcome, before map[string]BaseStep) map[string]BaseStep {
	rows := map[string]BaseStep{}
	for i, o := range outcomes {
		row := rondo.RunStep{StepID: w.Steps[i].ID, Status: rondo.RunStepCompleted, InputHash: o.keyed.InputHash, CacheKey: o.keyed.Key, Manifest: o.keyed.Manifest.Encode(), Data: o.out.Data, OutputHash: o.out.Hash}
		switch {
		case o.how == "failed" || o.how == "":
			return nil
		case o.reason.Code == rondo.ReasonBase:
			row = before[row.StepID].RunStep
		case o.how == "reused":
			row.Status = rondo.RunStepSkipped
		}
		rows[row.StepID] = BaseStep{RunStep: row}
	}
	return rows
}

// forecast asks the world as it is.
func (wo *world) forecast(in ForecastInput) []PlannedStep {
	f := NewForecast(in)
	for asks := f.Next(); len(asks) > 0; asks = f.Next() {
		found := map[string]Found{}
		for _, ask := range asks {
			found[ask.Key] = Found{Entry: wo.cache[ask.Key], ArtifactsPresent: true}
		}
		f.Answer(wo.now, found)
	}
	return f.Steps()
}

// drawFlow makes a workflow whose steps read some of what is before them and some
// of the trigger. salts and configs are what a new version changes.
func drawFlow(t *rapid.T, s shape) func(salts, config string) string {
	type choice struct{ input, cache string }
	choices := make([]choice, len(s.needs))
	for i, needs := range s.needs {
		var members []string
		for _, need := range needs {
			switch rapid.IntRange(0, 3).Draw(t, "reads") {
			case 0: // only waits for it
			case 1:
				members = append(members, fmt.Sprintf(`"m%d":{"step":"s%d","path":"data.other"}`, need, need))
			default:
				members = append(members, fmt.Sprintf(`"m%d":{"step":"s%d","path":"data.value"}`, need, need))
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "trigger") == 0 {
			members = append(members, `"t":{"trigger":"`+rapid.SampledFrom([]string{"a", "b", "big"}).Draw(t, "member")+`"}`)
		}
		choices[i].input = strings.Join(members, ",")
		choices[i].cache = rapid.SampledFrom([]string{"", "", "", "", `,"enabled":false`, `,"scope":"run_only"`}).Draw(t, "cache")
	}
	seeds := rapid.SliceOfNDistinct(rapid.IntRange(0, len(s.needs)-1), 1, min(3, len(s.needs)), rapid.ID[int]).Draw(t, "seeds")
	return func(salts, config string) string {
		var steps, named []string
		for _, i := range s.file {
			needs := make([]string, len(s.needs[i]))
			for k, need := range s.needs[i] {
				needs[k] = name(need)
			}
			salt := ""
			if strings.Contains(salts, name(i)+" ") {
				salt = salts
			}
			steps = append(steps, fmt.Sprintf(`{"id":%q,"skill":"work@%d","depends_on":%s,"input":{%s},"cache":{"salt":%q%s}}`,
				name(i), i%2, asJSON(needs), choices[i].input, salt, choices[i].cache))
		}
		for _, i := range seeds {
			named = append(named, name(i))
		}
		return `{"name":"flow","version":"1.0.0","steps":[` + strings.Join(steps, ",") + `],"changes":{"some.update":` + asJSON(named) + `,"full_rebuild":"*"},
			"skills":{"work@0":{"type":"exec"},"work@1":{"type":"exec","config":{"c":` + config + `}}}}`
	}
}

func drawTrigger(t *rapid.T) json.RawMessage {
	big := rapid.SampledFrom([]string{"1", "1", "9007199254740993"}).Draw(t, "big")
	return json.RawMessage(fmt.Sprintf(`{"a":%d,"b":%d,"big":%s}`, rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b"), big))
}

// What a forecast says is what the run then does: over random workflows, changes,
// modes, new versions, and a cache that lost things.
func TestARunDoesWhatItsForecastSaid(t *testing.T) {
	t.Parallel()
	cutoffs, unknown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		flow := drawFlow(t, drawShape(t, 12))
		w, err := Compile([]byte(flow("", "0")), server{})
		if err != nil {
			t.Fatal(err, problemsOf(err))
		}
		wo := &world{cache: map[string]*rondo.CacheEntry{}, values: rapid.Uint32Range(1, 3).Draw(t, "values"), now: noon}
		in := ForecastInput{Workflow: w, Tenant: "t", Trigger: drawTrigger(t)}
		planned := wo.forecast(in)
		ended := wo.execute(t, in)
		checkForecast(t, w, planned, ended)
		base := wo.base(w, ended, nil)
		for range rapid.IntRange(1, 3).Draw(t, "updates") {
			in := drawUpdate(t, wo, flow, w, base)
			planned := wo.forecast(in)
			ended := wo.execute(t, in)
			checkForecast(t, in.Workflow, planned, ended)
			if next := wo.base(in.Workflow, ended, base); next != nil {
				w, base = in.Workflow, next
			}
			for i := range planned {
				if ended[i].reason.Code == rondo.ReasonCutoff {
					cutoffs++
				}
				if planned[i].Decision == UnknownUntil {
					unknown++
				}
			}
		}
	})
	t.Logf("%d steps cut off, %d unknown", cutoffs, unknown)
	if cutoffs == 0 || unknown == 0 {
		t.Error("the workflows are too dull to say anything")
	}
}

// drawUpdate makes an update of a base run; the workflow may be a new version, and
// the cache may have lost things.
func drawUpdate(t *rapid.T, wo *world, flow func(salts, config string) string, w *Workflow, base map[string]BaseStep) ForecastInput {
	next := w
	if rapid.IntRange(0, 2).Draw(t, "version") == 0 {
		salts := ""
		if rapid.Bool().Draw(t, "rotate") {
			salts = name(rapid.IntRange(0, len(w.Steps)-1).Draw(t, "salted")) + " "
		}
		var err error
		if next, err = Compile([]byte(flow(salts, fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "config")))), server{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range sortedKeys(wo.cache) {
		entry := *wo.cache[key]
		switch rapid.IntRange(0, 15).Draw(t, "loss") {
		case 0:
			delete(wo.cache, key)
			continue
		case 1:
			entry.Tainted = "bad"
		case 2:
			entry.ExpiresAt = wo.now
		}
		wo.cache[key] = &entry
	}
	change := rapid.SampledFrom([]string{"some.update", "some.update", "some.update", "full_rebuild"}).Draw(t, "change")
	seeds, all, err := next.Seeds(change, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := rondo.RunOptions{
		Mode:  rapid.SampledFrom([]rondo.CacheMode{"", "", "", rondo.CacheUse, rondo.CacheRefresh, rondo.CacheBypass, rondo.CacheOnly, rondo.CacheVerify}).Draw(t, "mode"),
		Force: rapid.IntRange(0, 4).Draw(t, "force") == 0, Strict: rapid.Bool().Draw(t, "strict"),
	}
	return ForecastInput{
		Workflow: next, Tenant: "t", Trigger: drawTrigger(t), Change: &rondo.ChangeRequest{Type: change}, Base: base, Options: options,
		Seeds: seeds, All: all, Candidates: Candidates(next, seeds, next.ChangedSteps(w), all),
	}
}

func checkForecast(t *rapid.T, w *Workflow, planned []PlannedStep, ended []outcome) {
	for i, p := range planned {
		o, id := ended[i], w.Steps[i].ID
		maybe := false // whether what is before it runs is open
		for j := range planned {
			maybe = maybe || i != j && planned[j].Decision == UnknownUntil && reaches(w, j, i)
		}
		switch {
		case p.Err != nil:
			if o.how != "failed" {
				t.Fatalf("%s would fail (%v), and %s", id, p.Err, o.how)
			}
		case p.Decision == UnknownUntil:
			if len(p.Until) == 0 || slices.ContainsFunc(p.Until, func(j int) bool { return planned[j].Output != nil }) {
				t.Fatalf("%s is unknown until %v", id, p.Until)
			}
			continue
		case o.how == "" && maybe: // something before it failed
			continue
		case p.Decision == WouldRun && o.how != "ran", p.Decision == WouldReuse && o.how != "reused":
			t.Fatalf("%s: %s (%s), and %q (%s)", id, p.Decision, p.Reason, o.how, o.reason)
		}
		if p.StaleInput != o.stale {
			t.Fatalf("%s: stale input %t, and %t", id, p.StaleInput, o.stale)
		}
		if p.Reason != o.reason && (!maybe || p.Decision != WouldReuse) {
			t.Fatalf("%s: planned reason %s, and it was %s", id, p.Reason, o.reason)
		}
		if p.Output != nil && string(p.Output.Data) != string(o.out.Data) {
			t.Fatalf("%s: another output", id)
		}
		if p.Keyed.Key != "" && o.keyed.Key != "" && p.Keyed.Key != o.keyed.Key && !w.Steps[i].RunOnly {
			t.Fatalf("%s: another key", id)
		}
	}
}

// A strict update gives what a run from nothing gives, and repeats no step for
// whose key there is an entry.
func TestAStrictUpdateGivesWhatAFreshRunGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		flow := drawFlow(t, drawShape(t, 12))
		w, err := Compile([]byte(flow("", "0")), server{})
		if err != nil {
			t.Fatal(err)
		}
		wo := &world{cache: map[string]*rondo.CacheEntry{}, values: 2, now: noon}
		first := wo.execute(t, ForecastInput{Workflow: w, Tenant: "t", Trigger: json.RawMessage(`{"a":0,"b":0,"big":0}`)})
		seeds, _, err := w.Seeds("some.update", nil)
		if err != nil {
			t.Fatal(err)
		}
		trigger := json.RawMessage(fmt.Sprintf(`{"a":%d,"b":1,"big":0}`, rapid.IntRange(0, 1).Draw(t, "a")))
		in := ForecastInput{
			Workflow: w, Tenant: "t", Trigger: trigger, Base: wo.base(w, first, nil), Seeds: seeds,
			Candidates: Candidates(w, seeds, nil, false), Options: rondo.RunOptions{Strict: true},
		}
		known := map[string]bool{}
		for key := range wo.cache {
			known[key] = true
		}
		updated := wo.execute(t, in)
		fresh := (&world{cache: map[string]*rondo.CacheEntry{}, values: 2, now: noon}).execute(t, ForecastInput{Workflow: w, Tenant: "t", Trigger: trigger})
		for i := range w.Steps {
			if string(updated[i].out.Data) != string(fresh[i].out.Data) {
				t.Fatalf("%s gave %s, a fresh run %s", w.Steps[i].ID, updated[i].out.Data, fresh[i].out.Data)
			}
			if k := updated[i].keyed.Key; k != "" && known[k] != (updated[i].how == "reused") {
				t.Fatalf("%s: entry %t, and it %s", w.Steps[i].ID, known[k], updated[i].how)
			}
		}
	})
}

// Early cutoff: a step that ran again and gave the same stops what follows.
func TestEarlyCutoff(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(
		`{"id":"a","skill":"simulated.work@1","input":{"x":{"trigger":"x"}}}`,
		`{"id":"b","skill":"simulated.work@1","depends_on":["a"],"input":{"x":{"step":"a","path":"data"}}}`,
		`{"id":"c","skill":"simulated.work@1","depends_on":["b"],"input":{"x":{"step":"b","path":"data"}}}`,
		step("d"),
	))
	wo := &world{cache: map[string]*rondo.CacheEntry{}, values: 1, now: noon}
	first := wo.execute(t, ForecastInput{Workflow: w, Tenant: "t", Trigger: json.RawMessage(`{"x":0}`)})
	// A skill that gives the same for another input: the second half of what it gives
	// may differ, so look for an input where it does not.
	x := 1
	for string(wo.skill("a", json.RawMessage(fmt.Sprintf(`{"x":%d}`, x)))) != string(first[0].out.Data) {
		x++
	}
	in := ForecastInput{
		Workflow: w, Tenant: "t", Trigger: json.RawMessage(fmt.Sprintf(`{"x":%d}`, x)), Base: wo.base(w, first, nil),
		Change: &rondo.ChangeRequest{Type: "x"}, Seeds: []int{0}, Candidates: Candidates(w, []int{0}, nil, false),
	}
	var decisions, reasons []string
	for _, p := range wo.forecast(in) {
		decisions = append(decisions, string(p.Decision))
	}
	for _, o := range wo.execute(t, in) {
		reasons = append(reasons, o.reason.String())
	}
	if diff := cmp.Diff([]string{"would_run", "unknown_until", "unknown_until", "reuse"}, decisions); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"input_changed(x)", "cutoff", "cutoff", "base"}, reasons); diff != "" {
		t.Fatal(diff)
	}
}

// What comes after a step that ran is cut off, however far behind it stands.
func TestCutoffReachesFar(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(step("a"), step("b", "a"), step("c", "b")))
	wo := &world{cache: map[string]*rondo.CacheEntry{}, values: 1, now: noon}
	first := wo.execute(t, ForecastInput{Workflow: w, Tenant: "t"})
	in := ForecastInput{
		Workflow: w, Tenant: "t", Base: wo.base(w, first, nil), Options: rondo.RunOptions{Force: true},
		Seeds: []int{0}, Candidates: Candidates(w, []int{0}, nil, false),
	}
	var planned, ended []string
	for _, p := range wo.forecast(in) {
		planned = append(planned, p.Reason.String())
	}
	for _, o := range wo.execute(t, in) {
		ended = append(ended, o.reason.String())
	}
	want := []string{"forced", "cutoff", "cutoff"}
	if diff := cmp.Diff(want, planned); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("happened (-want +got):\n%s", diff)
	}
}

func TestLinkMarksStaleInputs(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(
		`{"id":"a","skill":"simulated.work@1","input":{"x":{"trigger":"x"}}}`,
		step("b", "a"),
		step("c"),
		`{"id":"d","skill":"simulated.work@1","input":{"x":{"merge":[{"trigger":"x"}]}}}`,
		step("e"),
	))
	rows := map[string]BaseStep{}
	for i, input := range []string{`{"x":{}}`, `{}`, `{}`, `{"x":{}}`} {
		rows[w.Steps[i].ID] = BaseStep{RunStep: rondo.RunStep{StepID: w.Steps[i].ID, Status: rondo.RunStepSkipped, InputHash: inputHash(json.RawMessage(input))}}
	}
	in := ForecastInput{Workflow: w, Trigger: json.RawMessage(`{"x":1}`), Base: rows, Candidates: Candidates(w, []int{2}, nil, false)}
	for strict, want := range map[bool]string{false: "a stale, b, d stale", true: ""} {
		in.Options.Strict = strict
		linked, candidates := Link(in)
		var got []string
		for _, l := range linked {
			text := w.Steps[l.Step].ID
			if l.StaleInput {
				text += " stale"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("strict %t: linked %v, want %s", strict, got, want)
		}
		if !candidates[2] || !candidates[4] || candidates[0] != strict || candidates[1] != strict {
			t.Errorf("strict %t: candidates %v", strict, candidates)
		}
	}
}

func TestForecastOfFlightsAndFailures(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(
		step("a"),
		`{"id":"b","skill":"simulated.work@1","depends_on":["a"],"input":{"x":{"step":"a","path":"data"}}}`,
		`{"id":"c","skill":"simulated.work@1","input":{"x":{"merge":[{"trigger":"x"}]}}}`,
		step("d", "c"), step("e", "d"),
	))
	f := NewForecast(ForecastInput{Workflow: w, Tenant: "t", Trigger: json.RawMessage(`{"x":1}`)})
	asks := f.Next()
	if len(asks) != 1 || asks[0].Step != 0 || asks[0].Key == "" {
		t.Fatalf("asks %v", asks)
	}
	f.Answer(noon, map[string]Found{asks[0].Key: {Flying: true}})
	if more := f.Next(); len(more) > 0 {
		t.Fatalf("asks %v", more)
	}
	var got []string
	for _, p := range f.Steps() {
		text := fmt.Sprint(p.Decision, " ", p.Reason, " ", p.Until)
		if p.Err != nil {
			text += " " + string(p.Err.Code)
		}
		got = append(got, text)
	}
	want := []string{
		"reuse inflight []", "unknown_until  [0]", "would_fail  [] INPUT_SELECTOR_ERROR",
		"never_reached  [2]", "never_reached  [3]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForecastComparesWithTheNearestEntry(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(`{"id":"a","skill":"simulated.work@1","input":{"x":{"trigger":"x"}}}`))
	earlier := w.Key(0, "t", rondo.ID{}, json.RawMessage(`{"x":0}`)).Manifest
	f := NewForecast(ForecastInput{Workflow: w, Tenant: "t", Trigger: json.RawMessage(`{"x":1}`), Nearest: map[string]Manifest{"a": earlier}})
	f.Next()
	f.Answer(noon, nil)
	if got := f.Steps()[0].Reason.String(); got != "input_changed(x)" {
		t.Error(got)
	}
}
