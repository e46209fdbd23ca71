package sqlstore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// RunPlan is what a commit of runs writes, and what it answers.
type RunPlan struct {
	Results []store.RunResult

	NewRuns, Runs                      [][]any // Runs: the id and the columns from RunFixed on
	Steps, Entries                     [][]any // replace what is there
	NewFlights, Flights                [][]any // Flights are there and locked
	Unknown                            [][]any // the keys of those of NewFlights that must have no entry when they are there
	Landed                             [][]any // the keys of flights that are there no more
	Artifacts, Uses, Raised            [][]any
	Obeyed, EndedRuns, ReplacedEntries []any // signals, runs without signals, users of artifacts that are ReplacedUser now
	Outgoing                           []rondo.Outgoing

	sender []int // whose result the number of each outgoing event belongs to
}

// planner builds a RunPlan.
type planner struct {
	*RunPlan
	driver string
	commit *store.RunCommit
	loaded *RunsLoaded
	steps  map[stepKey]int // where a step is in Steps
	uses   map[[2]string]bool
}

type stepKey struct {
	run     rondo.ID
	step    string
	attempt int
}

// PlanRuns decides a commit.
func PlanRuns(driver string, c *store.RunCommit, loaded *RunsLoaded) (*RunPlan, error) {
	p := &planner{
		RunPlan: &RunPlan{Results: make([]store.RunResult, len(c.Writes))}, driver: driver, commit: c, loaded: loaded,
		steps: map[stepKey]int{}, uses: map[[2]string]bool{},
	}
	for i := range c.Writes {
		w, result := &c.Writes[i], &p.Results[i]
		if result.Fence, result.Err = loaded.Runs[w.Run.ID].Admit(driver, w); result.Err != nil {
			continue
		}
		if err := p.put(w, result.Fence); err != nil {
			return nil, err
		}
		p.land(w, result)
		p.send(i, w.Outbox)
	}
	for i := range c.Writes {
		if p.Results[i].Err != nil {
			continue
		}
		if err := p.takeOff(i, &c.Writes[i]); err != nil {
			return nil, err
		}
	}
	p.flights()
	return p.RunPlan, nil
}

// put plans everything of a write but its flights and events.
func (p *planner) put(w *store.RunWrite, fence int64) error {
	if w.Insert {
		row, err := RunRow(w.Run, p.commit.Owner)
		if err != nil {
			return err
		}
		p.NewRuns = append(p.NewRuns, row)
	} else {
		state, err := RunState(w.Run, p.commit.Owner, fence)
		if err != nil {
			return err
		}
		p.Runs = append(p.Runs, append([]any{ID(w.Run.ID)}, state...))
	}
	for i := range w.Steps {
		if err := p.step(&w.Steps[i]); err != nil {
			return err
		}
	}
	for i := range w.Artifacts {
		row, err := ArtifactRow(&w.Artifacts[i])
		if err != nil {
			return err
		}
		p.Artifacts = append(p.Artifacts, row)
		p.use([]rondo.ID{w.Artifacts[i].ID}, w.Run.ID[:])
	}
	for i := range w.Raised {
		row, err := RaisedRow(w.Run, &w.Raised[i])
		if err != nil {
			return err
		}
		p.Raised = append(p.Raised, row)
	}
	for _, id := range w.Signals {
		p.Obeyed = append(p.Obeyed, ID(id))
	}
	if w.Run.Status.Ended() {
		p.EndedRuns = append(p.EndedRuns, ID(w.Run.ID))
	}
	return nil
}

// step plans a row; of two rows of one attempt the later one is meant.
func (p *planner) step(step *rondo.RunStep) error {
	row, err := RunStepRow(step)
	if err != nil {
		return err
	}
	key := stepKey{step.RunID, step.StepID, step.Attempt}
	if at, known := p.steps[key]; known {
		p.Steps[at] = row
	} else {
		p.steps[key] = len(p.Steps)
		p.Steps = append(p.Steps, row)
	}
	p.use(step.ArtifactIDs, step.RunID[:])
	return nil
}

func (p *planner) use(artifacts []rondo.ID, user []byte) {
	for _, id := range artifacts {
		if key := [2]string{string(id[:]), string(user)}; !p.uses[key] {
			p.uses[key] = true
			p.Uses = append(p.Uses, []any{ID(id), slices.Clone(user)})
		}
	}
}

// land plans the end of flights that are still held.
func (p *planner) land(w *store.RunWrite, result *store.RunResult) {
	if len(w.Landings) == 0 {
		return
	}
	result.Landed = make([]bool, len(w.Landings))
	for i := range w.Landings {
		landing := &w.Landings[i]
		key := flightKey(w, landing.Name)
		head := p.loaded.Flights[key]
		if head == nil || head.Owner == "" || head.Owner != p.commit.Owner || head.flown != landing.Fence {
			continue
		}
		result.Landed[i] = true
		head.land(landing)
		if landing.Entry == nil {
			continue
		}
		name := []byte(key.Name)
		p.Entries = append(p.Entries, EntryRow(key.Tenant, name, landing.Fence, landing.Entry))
		user := EntryUser(key.Tenant, name)
		if Replaces(landing) {
			p.ReplacedEntries = append(p.ReplacedEntries, user)
		}
		p.use(landing.Entry.ArtifactIDs, user)
	}
}

// Replaces reports whether a landing may bring an entry in place of another: the
// first flight of a name that has no entry has fence 1.
func Replaces(l *store.Landing) bool { return l.Entry != nil && l.Fence > 1 }

// takeOff plans the takeoffs of a write.
func (p *planner) takeOff(nr int, w *store.RunWrite) error {
	if len(w.Takeoffs) == 0 {
		return nil
	}
	flights := make([]store.Flight, len(w.Takeoffs))
	p.Results[nr].Flights = flights
	for i := range w.Takeoffs {
		t := &w.Takeoffs[i]
		head := p.loaded.flight(flightKey(w, t.Name))
		flights[i] = head.TakeOff(t, p.commit.Owner, p.commit.At, p.loaded.Alive)
		if !flights[i].Taken {
			continue
		}
		head.Owner, head.Fence, head.flown, head.changed = p.commit.Owner, flights[i].Fence, flights[i].Fence, true
		if err := p.step(&t.Step); err != nil {
			return err
		}
		p.send(nr, t.Outbox)
	}
	return nil
}

// flights plans the rows of flights that changed, by key.
func (p *planner) flights() {
	for _, key := range slices.SortedFunc(maps.Keys(p.loaded.Flights), func(a, b FlightKey) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	}) {
		head := p.loaded.Flights[key]
		row := []any{key.Tenant, []byte(key.Name), head.Owner, head.flown}
		switch {
		case !head.changed || head.Owner == "" && !head.locked:
		case head.Owner == "":
			p.Landed = append(p.Landed, row[:2])
		case head.locked:
			p.Flights = append(p.Flights, row)
		default:
			if head.Entry == nil {
				p.Unknown = append(p.Unknown, row[:2])
			}
			p.NewFlights = append(p.NewFlights, row)
		}
	}
}

func (p *planner) send(nr int, outgoing []rondo.Outgoing) {
	p.Outgoing = append(p.Outgoing, outgoing...)
	for range outgoing {
		p.sender = append(p.sender, nr)
	}
}

// Numbered hands the numbers of the outgoing events to their results.
func (p *RunPlan) Numbered(seqs []int64) {
	for i, seq := range seqs {
		result := &p.Results[p.sender[i]]
		result.Seqs = append(result.Seqs, seq)
	}
}
