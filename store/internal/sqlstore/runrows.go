package sqlstore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// runRecord is what no query asks a run for.
type runRecord struct {
	Version        string               `json:"version"`
	DefinitionHash string               `json:"definition"`
	Change         *rondo.ChangeRequest `json:"change,omitempty"`
	Options        rondo.RunOptions     `json:"options,omitzero"`
	CorrelationID  string               `json:"correlation,omitempty"`
	CreatedBy      string               `json:"createdBy,omitempty"`
	Case           *rondo.CaseLink      `json:"case,omitempty"`
	ProductID      string               `json:"product,omitempty"`
}

// RunRow is a run as it is inserted.
func RunRow(run *rondo.Run, owner string) ([]any, error) {
	record, err := json.Marshal(&runRecord{
		run.WorkflowVersion, run.DefinitionHash, run.Change, run.Options, run.CorrelationID, run.CreatedBy, run.Case, run.ProductID,
	})
	if err != nil {
		return nil, unencodable("run", err)
	}
	row := []any{
		ID(run.ID), run.TenantID, run.WorkflowName, string(run.TriggerType), OptionalID(run.BaseRunID), Micros(run.CreatedAt),
		record, document(run.TriggerPayload),
	}
	state, err := RunState(run, owner, 1)
	return append(row, state...), err
}

// RunState is what every write may change of a run, in the order of its columns
// from RunFixed on.
func RunState(run *rondo.Run, owner string, fence int64) ([]any, error) {
	var live, failure any
	if run.Status.Ended() {
		owner = ""
	} else {
		live = int64(1)
	}
	if run.Error != nil {
		text, err := json.Marshal(run.Error)
		if err != nil {
			return nil, unencodable("run error", err)
		}
		failure = text
	}
	return []any{
		string(run.Status), owner, live, fence, run.Seq, int64(run.TotalSteps), Micros(run.StartedAt), Micros(run.CompletedAt), failure,
	}, nil
}

// readRun takes the columns of runs.
func readRun(values []any) (store.OwnedRun, error) {
	r := reader{values: values}
	run := rondo.Run{
		ID: r.id(), TenantID: r.text(), WorkflowName: r.text(), TriggerType: rondo.TriggerType(r.text()), BaseRunID: r.id(), CreatedAt: r.time(),
	}
	record := r.bytes()
	run.TriggerPayload, run.Status = r.bytes(), rondo.RunStatus(r.text())
	r.text() // the owner
	r.int()  // live
	fence := r.int()
	run.Seq, run.TotalSteps, run.StartedAt, run.CompletedAt = r.int(), int(r.int()), r.time(), r.time()
	failure := r.bytes()
	if r.err != nil {
		return store.OwnedRun{}, wrapRead("run", r.err)
	}
	var rest runRecord
	if err := json.Unmarshal(record, &rest); err != nil {
		return store.OwnedRun{}, wrapRead("run", err)
	}
	run.WorkflowVersion, run.DefinitionHash, run.Change, run.Options = rest.Version, rest.DefinitionHash, rest.Change, rest.Options
	run.CorrelationID, run.CreatedBy, run.Case, run.ProductID = rest.CorrelationID, rest.CreatedBy, rest.Case, rest.ProductID
	if failure != nil {
		if err := json.Unmarshal(failure, &run.Error); err != nil {
			return store.OwnedRun{}, wrapRead("run error", err)
		}
	}
	return store.OwnedRun{Run: run, Fence: fence}, nil
}

// stepExtra is what few attempts have.
type stepExtra struct {
	Error         *rondo.StepError `json:"error,omitempty"`
	RetryAt       int64            `json:"retryAt,omitempty"` // microseconds
	StaleInput    bool             `json:"staleInput,omitempty"`
	Deterministic *bool            `json:"deterministic,omitempty"`
}

// RunStepRow is an attempt of a step.
func RunStepRow(step *rondo.RunStep) ([]any, error) {
	var extra any
	if step.Error != nil || step.StaleInput || step.Deterministic != nil || !step.RetryAt.IsZero() {
		rare := stepExtra{Error: step.Error, StaleInput: step.StaleInput, Deterministic: step.Deterministic}
		if !step.RetryAt.IsZero() {
			rare.RetryAt = step.RetryAt.UnixMicro()
		}
		text, err := json.Marshal(&rare)
		if err != nil {
			return nil, unencodable("step", err)
		}
		extra = text
	}
	return []any{
		ID(step.RunID), step.StepID, int64(step.Attempt), step.Seq, string(step.Status), step.Skill,
		Digest(step.InputHash), Digest(step.CacheKey), Digest(step.OutputHash), string(step.Reason.Code), freeText(step.Reason.Detail), flag(step.CacheHit),
		OptionalID(step.Correlation), Micros(step.StartedAt), Micros(step.CompletedAt), OptionalID(step.SourceRunID), idList(step.ArtifactIDs),
		extra, document(step.Manifest), document(step.Data), document(step.Debug),
	}, nil
}

// readRunStep takes the columns of run_steps.
func readRunStep(values []any) (rondo.RunStep, error) {
	r := reader{values: values}
	step := rondo.RunStep{
		RunID: r.id(), StepID: r.text(), Attempt: int(r.int()), Seq: r.int(), Status: rondo.RunStepStatus(r.text()), Skill: r.text(),
		InputHash: r.digest(), CacheKey: r.digest(), OutputHash: r.digest(),
		Reason: rondo.Reason{Code: rondo.ReasonWord(r.text()), Detail: r.text()}, CacheHit: r.bool(),
		Correlation: r.id(), StartedAt: r.time(), CompletedAt: r.time(), SourceRunID: r.id(), ArtifactIDs: r.ids(),
	}
	extra := r.bytes()
	step.Manifest, step.Data, step.Debug = r.bytes(), r.bytes(), r.bytes()
	if r.err == nil && extra != nil {
		var rare stepExtra
		if r.err = json.Unmarshal(extra, &rare); r.err == nil {
			step.Error, step.StaleInput, step.Deterministic = rare.Error, rare.StaleInput, rare.Deterministic
			if rare.RetryAt != 0 {
				step.RetryAt = time.UnixMicro(rare.RetryAt).UTC()
			}
		}
	}
	return step, wrapRead("run step", r.err)
}

// EntryRow is an entry that the flight with a fence made.
func EntryRow(tenant string, name []byte, fence int64, e *rondo.CacheEntry) []any {
	return []any{
		tenant, name, fence, e.WorkflowName, e.StepID, Micros(e.CreatedAt), Micros(e.LastUsedAt), Micros(e.ExpiresAt), int64(len(e.Data) + len(e.Manifest)), freeText(e.Tainted),
		Digest(e.InputHash), Digest(e.OutputHash), OptionalID(e.RunID), e.Class, e.DurationMs, e.Cost, idList(e.ArtifactIDs),
		document(e.Manifest), document(e.Data),
	}
}

// StoredEntry is a row of step_cache.
type StoredEntry struct {
	Name  []byte // as it is stored
	Fence int64
	Entry rondo.CacheEntry
}

// ReadEntry takes the columns of step_cache.
func ReadEntry(values []any) (StoredEntry, error) {
	r := reader{values: values}
	var s StoredEntry
	e := &s.Entry
	e.TenantID = r.text()
	s.Name, s.Fence = r.bytes(), r.int()
	e.WorkflowName, e.StepID, e.CreatedAt, e.LastUsedAt, e.ExpiresAt = r.text(), r.text(), r.time(), r.time(), r.time()
	r.int() // the size
	e.Tainted, e.InputHash, e.OutputHash, e.RunID, e.Class, e.DurationMs = r.text(), r.digest(), r.digest(), r.id(), r.text(), r.int()
	e.Cost, _ = r.float()
	e.ArtifactIDs, e.Manifest, e.Data = r.ids(), r.bytes(), r.bytes()
	name := reader{values: []any{s.Name}}
	e.Key = name.digest()
	return s, wrapRead("cache entry", r.err)
}

func readEntry(values []any) (rondo.CacheEntry, error) {
	stored, err := ReadEntry(values)
	return stored.Entry, err
}

// GoodEntry reports whether an entry may be used.
func GoodEntry(e *rondo.CacheEntry, at time.Time) bool {
	return e != nil && e.Tainted == "" && (e.ExpiresAt.IsZero() || e.ExpiresAt.UnixMicro() > at.UnixMicro())
}

// ArtifactRow is an artifact.
func ArtifactRow(a *rondo.Artifact) ([]any, error) {
	stored := *a
	stored.CreatedAt = Stored(a.CreatedAt)
	record, err := json.Marshal(&stored)
	if err != nil {
		return nil, unencodable("artifact", err)
	}
	return []any{ID(a.ID), a.TenantID, Digest(a.ContentHash), record}, nil
}

// readArtifact takes tenant and record of artifacts.
func readArtifact(values []any) (rondo.Artifact, error) {
	r := reader{values: values}
	tenant, record := r.text(), r.bytes()
	var a rondo.Artifact
	if r.err == nil {
		r.err = json.Unmarshal(record, &a)
	}
	a.TenantID = tenant
	return a, wrapRead("artifact", r.err)
}

// RaisedRow is an event that a run raised.
func RaisedRow(run *rondo.Run, e *rondo.RaisedEvent) ([]any, error) {
	record, err := json.Marshal(e)
	if err != nil {
		return nil, unencodable("raised event", err)
	}
	return []any{e.EventID, run.TenantID, ID(run.ID), e.OccurredAt.UnixMicro(), record}, nil
}

func readRaised(values []any) (store.RunRaised, error) {
	r := reader{values: values}
	r.text() // the event id
	raised := store.RunRaised{TenantID: r.text(), RunID: r.id()}
	r.int() // when
	record := r.bytes()
	if r.err == nil {
		r.err = json.Unmarshal(record, &raised.Event)
	}
	return raised, wrapRead("raised event", r.err)
}

// freeText is text that may hold anything, NUL too, which PostgreSQL takes in bytes
// only; "" is NULL.
func freeText(text string) any {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func unencodable(noun string, err error) error {
	return &rondo.Error{Code: rondo.CodeInternal, Message: fmt.Sprintf("a %s cannot be encoded", noun), Err: err}
}
