package invariant

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
)

// open returns every open attempt: of parallel steps, and of what is live.
func (k *checker) open() []rondo.Attempt {
	machine := &k.Instance.Machine
	if len(machine.Forks) == 0 {
		return machine.Live
	}
	open := make([]rondo.Attempt, 0, len(machine.Forks)+len(machine.Live))
	for _, fork := range machine.Forks {
		open = append(open, fork.Attempt)
	}
	return append(open, machine.Live...)
}

// forks: every open attempt in a branch has its parallel step open around it, in
// that branch (I3), and in a running case every branch that has not joined has
// something in flight, while one that has joined has nothing (I22).
func (k *checker) forks() {
	forks := k.Instance.Machine.Forks
	occupied := map[[2]string]bool{}
	for _, att := range k.open() {
		if step := k.Snapshot.Steps[att.StepID]; step != nil && (step.Fork != att.Fork || step.Branch != att.Branch) {
			k.broken("I3", "%s#%d is in branch %q of %q, the definition has it in %q of %q", att.StepID, att.Number, att.Branch, att.Fork, step.Branch, step.Fork)
		}
		if att.Fork == "" {
			continue
		}
		occupied[[2]string{att.Fork, att.Branch}] = true
		if !slices.ContainsFunc(forks, func(f rondo.Fork) bool {
			return f.Attempt.StepID == att.Fork && f.Branches[att.Branch] == rondo.BranchLive
		}) {
			k.broken("I3", "%s#%d is open in branch %s of %s, which is not", att.StepID, att.Number, att.Branch, att.Fork)
		}
	}
	if k.Instance.Status != rondo.StatusRunning {
		return
	}
	for _, fork := range forks {
		for branch, word := range fork.Branches {
			if word == rondo.BranchLive && !occupied[[2]string{fork.Attempt.StepID, branch}] {
				k.broken("I22", "branch %s of %s is live and has nothing in flight", branch, fork.Attempt.StepID)
			}
		}
	}
}

// migration is what one migration renamed, and how many rows had been written
// under the old names.
type migration struct {
	Renamed  map[string]string `json:"renamed"`
	Finished int               `json:"finished_rows"`
}

// readInterventions learns what the history needs to be read with.
func (k *checker) readInterventions() {
	k.observed = k.Instance.Mode == rondo.ModeClientDriven
	for _, i := range k.Interventions {
		switch rondo.ActionName(i.Action) {
		case rondo.ActionSetMode:
			k.observed = true
		case rondo.ActionMigrate:
			var m migration
			if err := json.Unmarshal(i.After, &m); err != nil {
				k.broken("I10", "the record of a migration cannot be read: %v", err)
			}
			k.migrations = append(k.migrations, m)
		default:
		}
	}
}

// nameNow is what the step of a row is called after all migrations.
func (k *checker) nameNow(row rondo.Step) string {
	name := row.StepID
	for _, m := range k.migrations {
		if to, ok := m.Renamed[name]; ok && row.Seq <= m.Finished {
			name = to
		}
	}
	return name
}
