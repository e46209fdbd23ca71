package sqlstore

import (
	"slices"
	"strings"
)

// Kind is what a column holds.
type Kind uint8

// The kinds of column.
const (
	Int Kind = iota
	Text
	Bytes
	UUID
	Float
)

// Column is one column of a table that the write path fills.
type Column struct {
	Name string
	Kind Kind
}

// Table is a table that the write path fills, with the columns that it gives.
type Table struct {
	Name    string
	Columns []Column
}

// Names lists the columns for SQL, each with a prefix such as "i.".
func (t *Table) Names(prefix string) string {
	var b strings.Builder
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(prefix)
		b.WriteString(c.Name)
	}
	return b.String()
}

// Tables are the tables of the write path. The order of columns here is the
// order of values in rows and in what the Read functions take.
type Tables struct {
	Instances, Steps, Events, Parked, Outbox, Log, Interventions, DeadLetters, JobResults, Attributes, Loose Table
	Runs, RunSteps, StepCache, Flights, Artifacts, ArtifactUses, Raised                                      Table
}

// MutableFrom is the first column of instances that a later commit may change;
// those before it are fixed when the instance is inserted.
const MutableFrom = 3

// MovingFrom is the first of the columns that nearly every commit changes; those
// before it stay while a case goes from step to step.
const MovingFrom = 19

// Moving is the part of instances that a move writes: the key and the columns from
// MovingFrom on.
func (t *Tables) Moving() *Table {
	columns := t.Instances.Columns
	return &Table{t.Instances.Name, slices.Concat(columns[:MutableFrom], columns[MovingFrom:])}
}

// NewTables describes the tables.
func NewTables() *Tables {
	outgoing := []Column{
		{"stream", Text},
		{"org_id", Text},
		{"event_id", UUID},
		{"instance_id", UUID},
		{"envelope", Bytes},
		{"created_at", Int},
		{"relayed", Int},
	}
	return &Tables{
		Instances: Table{"instances", []Column{
			{"id", UUID},
			{"org_id", Text},
			{"case_id", Text},
			{"product_id", Text},
			{"started_at", Int},
			{"definition_id", UUID},
			{"snapshot_hash", Text},
			{"mode", Text},
			{"status", Text},
			{"halt_reason", Text},
			{"halt_note", Text},
			{"halt_step_id", Text},
			{"cancelled_by", Text},
			{"cancelled_reason", Text},
			{"deadline_exceeded", Int},
			{"supersedes_id", UUID},
			{"superseded_by_id", UUID},
			{"deadline_at", Int},
			{"completed_at", Int},
			{"wake_at", Int},
			{"step_ids", Text},
			{"machine", Bytes},
			{"context", Bytes},
			{"token", Int},
			{"version", Int},
		}},
		Steps: Table{"steps", []Column{
			{"instance_id", UUID},
			{"step_id", Text},
			{"attempt", Int},
			{"id", UUID},
			{"org_id", Text},
			{"kind", Text},
			{"status", Text},
			{"seq", Int},
			{"started_at", Int},
			{"completed_at", Int},
			{"timeout_at", Int},
			{"correlation_id", Text},
			{"outcome", Text},
			{"input", Bytes},
			{"output", Bytes},
			{"error", Bytes},
		}},
		Events: Table{"events", []Column{
			{"id", UUID},
			{"org_id", Text},
			{"event_id", UUID},
			{"case_id", Text},
			{"instance_id", UUID},
			{"type", Text},
			{"received_at", Int},
			{"processed", Int},
			{"outcome", Text},
			{"duplicates", Int},
			{"verdict", Text},
			{"error", Text},
			{"envelope", Bytes},
		}},
		Parked: Table{"parked", []Column{
			{"org_id", Text},
			{"case_id", Text},
			{"event_id", UUID},
		}},
		Loose: Table{"loose_events", []Column{
			{"org_id", Text},
			{"event_id", UUID},
			{"id", UUID},
			{"case_id", Text},
			{"outcome", Text},
			{"type", Text},
		}},
		Attributes: Table{"attributes", []Column{
			{"instance_id", UUID},
			{"path", Text},
			{"value", Bytes},
			{"number", Float},
			{"org_id", Text},
		}},
		Outbox: Table{"outbox", outgoing},
		Log:    Table{"log_entries", append([]Column{{"seq", Int}}, outgoing...)},
		Interventions: Table{"interventions", []Column{
			{"id", UUID},
			{"org_id", Text},
			{"instance_id", UUID},
			{"action", Text},
			{"performed_by", Text},
			{"reason", Text},
			{"before_state", Bytes},
			{"after_state", Bytes},
			{"created_at", Int},
		}},
		DeadLetters: Table{"dead_letters", []Column{
			{"id", UUID},
			{"org_id", Text},
			{"stream", Text},
			{"entry_id", Text},
			{"body", Bytes},
			{"reason", Text},
			{"received_at", Int},
			{"status", Text},
			{"settled_by", Text},
			{"note", Text},
			{"settled_at", Int},
		}},
		JobResults: Table{"job_results", []Column{
			{"job_id", UUID},
			{"instance_id", UUID},
			{"org_id", Text},
			{"outcome", Text},
			{"detail", Text},
			{"done_at", Int},
		}},
		Runs:         Table{"runs", runColumns},
		RunSteps:     Table{"run_steps", runStepColumns},
		StepCache:    Table{"step_cache", stepCacheColumns},
		Flights:      Table{"flights", flightColumns},
		Artifacts:    Table{"artifacts", artifactColumns},
		ArtifactUses: Table{"artifact_uses", artifactUseColumns},
		Raised:       Table{"run_raised", raisedColumns},
	}
}
