package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/engine/runs"
)

// planMemory is where the plan of what is asked for is kept until it is run: a
// file beside the state. The same file, input, base and change have the same one,
// whatever the definition says by then.
type planMemory struct{ path string }

func (c runCommand) planMemory(ask runAsk) planMemory {
	file, err := filepath.Abs(c.File)
	if err != nil {
		file = c.File
	}
	ask.Run.WorkflowVersion, ask.Update.WorkflowVersion = "", ""
	asked, err := json.Marshal(struct {
		File, Server, Database string
		Ask                    runAsk
	}{file, c.Server, c.url(), ask})
	if err != nil {
		return planMemory{}
	}
	digest := sha256.Sum256(asked)
	return planMemory{filepath.Join(c.Data, "plans", hex.EncodeToString(digest[:16])+".json")}
}

// remembered is a plan and what file it was made of.
type remembered struct {
	Plan   json.RawMessage `json:"plan"`
	Source string          `json:"source"` // digest of the file
}

// keep remembers a plan of a file.
func (m planMemory) keep(planned client.RunPlan, source runSource) error {
	plan, err := json.Marshal(planned)
	if err != nil {
		return err
	}
	document, err := json.Marshal(remembered{plan, source.digest()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(m.path, document, 0o600)
}

// take returns the plan that was kept and forgets it, and whether the file is
// another since; nil = none was.
func (m planMemory) take(source runSource) (planned *runs.Plan, fileChanged bool, err error) {
	document, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var kept remembered
	if err = json.Unmarshal(document, &kept); err == nil {
		err = json.Unmarshal(kept.Plan, &planned)
	}
	if err != nil {
		return nil, false, &rondo.Error{Code: rondo.CodeInvalid, Op: "read the plan", Message: err.Error(), Hint: "remove " + m.path + " and plan again"}
	}
	return planned, kept.Source != source.digest(), os.Remove(m.path)
}

// heldTo is how a run kept to its plan.
type heldTo struct {
	AsPlanned   bool             `json:"asPlanned"`
	FileChanged bool             `json:"fileChanged"` // since the plan
	Deviations  []runs.Deviation `json:"deviations"`
}

// hold compares a run with its plan.
func hold(planned *runs.Plan, fileChanged bool, steps []client.RunStep) *heldTo {
	if planned == nil {
		return nil
	}
	happened := make([]rondo.RunStep, len(steps))
	for i, step := range steps {
		happened[i] = rondo.RunStep{StepID: step.StepID, Skill: step.Skill, Status: step.Status, Attempt: step.Attempt, CacheHit: step.CacheHit, StaleInput: step.StaleInput}
		if step.Reason != nil {
			happened[i].Reason = *step.Reason
		}
	}
	found := nonNil(runs.ComparePlan(*planned, happened))
	return &heldTo{AsPlanned: len(found) == 0, FileChanged: fileChanged, Deviations: found}
}
