package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// A row function gives the values of one noun in the order of its table's
// columns; its Read function takes them back in that order.

// instanceRow takes the token of the commit; see Plan.
func instanceRow(i *rondo.Instance, token int64) ([]any, error) {
	machine, err := json.Marshal(&i.Machine)
	if err != nil {
		return nil, fmt.Errorf("encode machine of instance %s: %w", i.ID, err)
	}
	return []any{
		ID(i.ID), i.OrgID, i.CaseID, i.ProductID, Micros(i.StartedAt),
		ID(i.DefinitionID), i.SnapshotHash, string(i.Mode), string(i.Status),
		i.HaltReason, i.HaltNote, i.HaltStepID, i.CancelledBy, i.CancelledReason,
		flag(i.DeadlineExceeded), OptionalID(i.SupersedesID), OptionalID(i.SupersededByID),
		Micros(i.DeadlineAt), Micros(i.CompletedAt), Micros(i.WakeAt), liveSteps(&i.Machine),
		machine, encodeContext(i.Context), token, i.Version,
	}, nil
}

// liveSteps lists step ids each between spaces, so that one is found as " id ".
func liveSteps(m *rondo.Machine) string {
	if len(m.Live) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte(' ')
	for i := range m.Live {
		b.WriteString(m.Live[i].StepID)
		b.WriteByte(' ')
	}
	return b.String()
}

// ReadInstance takes the columns of instances. It keeps the bytes it is given.
func ReadInstance(values []any) (*rondo.Instance, error) { return ReadInstanceHeld(values, nil) }

// ReadInstanceHeld is ReadInstance for a row whose documents may be NULL because
// held has them.
func ReadInstanceHeld(values []any, held *rondo.Instance) (*rondo.Instance, error) {
	r := reader{values: values}
	i := &rondo.Instance{
		ID: r.id(), OrgID: r.text(), CaseID: r.text(), ProductID: r.text(), StartedAt: r.time(),
		DefinitionID: r.id(), SnapshotHash: r.text(), Mode: rondo.Mode(r.text()), Status: rondo.Status(r.text()),
		HaltReason: r.text(), HaltNote: r.text(), HaltStepID: r.text(), CancelledBy: r.text(), CancelledReason: r.text(),
		DeadlineExceeded: r.bool(), SupersedesID: r.id(), SupersededByID: r.id(),
		DeadlineAt: r.time(), CompletedAt: r.time(), WakeAt: r.time(),
	}
	r.text() // the live steps are in the machine
	machine, context := r.bytes(), r.bytes()
	r.int() // the token only tells which commit wrote the documents
	i.Version = r.int()
	if r.err != nil {
		return nil, fmt.Errorf("read instance: %w", r.err)
	}
	if machine == nil && held != nil && held.ID == i.ID && held.Version == i.Version {
		i.Machine, i.Context = held.Machine, held.Context
		return i, nil
	}
	if err := json.Unmarshal(machine, &i.Machine); err != nil {
		return nil, fmt.Errorf("read machine of instance %s: %w", i.ID, err)
	}
	var err error
	if i.Context, err = decodeContext(context); err != nil {
		return nil, fmt.Errorf("read context of instance %s: %w", i.ID, err)
	}
	return i, nil
}

func stepRow(s *rondo.Step) []any {
	return []any{
		ID(s.InstanceID), s.StepID, int64(s.Attempt), ID(s.ID), s.OrgID, s.Kind, string(s.Status), int64(s.Seq),
		Micros(s.StartedAt), Micros(s.CompletedAt), Micros(s.TimeoutAt), s.CorrelationID, s.Outcome,
		document(s.Input), document(s.Output), document(s.Error),
	}
}

// ReadStep takes the columns of steps.
func ReadStep(values []any) (rondo.Step, error) {
	r := reader{values: values}
	s := rondo.Step{
		InstanceID: r.id(), StepID: r.text(), Attempt: int(r.int()), ID: r.id(), OrgID: r.text(), Kind: r.text(),
		Status: rondo.StepStatus(r.text()), Seq: int(r.int()),
		StartedAt: r.time(), CompletedAt: r.time(), TimeoutAt: r.time(), CorrelationID: r.text(), Outcome: r.text(),
		Input: r.bytes(), Output: r.bytes(), Error: r.bytes(),
	}
	return s, wrapRead("step", r.err)
}

func eventRow(e *rondo.EventRecord) []any {
	return []any{
		ID(e.ID), e.OrgID, ID(e.EventID), e.CaseID, OptionalID(e.InstanceID), e.Type, Micros(e.ReceivedAt),
		flag(e.Processed), string(e.Outcome), int64(e.Duplicates), e.Verdict, e.Error, document(e.Envelope),
	}
}

// ReadEvent takes the columns of events.
func ReadEvent(values []any) (rondo.EventRecord, error) {
	r := reader{values: values}
	e := rondo.EventRecord{
		ID: r.id(), OrgID: r.text(), EventID: r.id(), CaseID: r.text(), InstanceID: r.id(), Type: r.text(),
		ReceivedAt: r.time(), Processed: r.bool(), Outcome: rondo.Outcome(r.text()), Duplicates: int(r.int()),
		Verdict: r.text(), Error: r.text(), Envelope: r.bytes(),
	}
	return e, wrapRead("event", r.err)
}

func outgoingRow(o *rondo.Outgoing) []any {
	return []any{
		o.Stream, o.OrgID, ID(o.EventID), OptionalID(o.InstanceID), document(o.Envelope), Micros(o.CreatedAt), flag(o.Relayed),
	}
}

// readOutgoing takes seq and then the columns of outbox, which are also those of
// log_entries.
func readOutgoing(values []any) (rondo.Outgoing, error) {
	r := reader{values: values}
	o := rondo.Outgoing{
		Seq: r.int(), Stream: r.text(), OrgID: r.text(), EventID: r.id(), InstanceID: r.id(), Envelope: r.bytes(),
		CreatedAt: r.time(), Relayed: r.bool(),
	}
	return o, wrapRead("outgoing event", r.err)
}

func interventionRow(i *rondo.Intervention) []any {
	return []any{
		ID(i.ID), i.OrgID, ID(i.InstanceID), i.Action, i.PerformedBy, i.Reason,
		document(i.Before), document(i.After), Micros(i.CreatedAt),
	}
}

func readIntervention(values []any) (rondo.Intervention, error) {
	r := reader{values: values}
	i := rondo.Intervention{
		ID: r.id(), OrgID: r.text(), InstanceID: r.id(), Action: r.text(), PerformedBy: r.text(), Reason: r.text(),
		Before: r.bytes(), After: r.bytes(), CreatedAt: r.time(),
	}
	return i, wrapRead("intervention", r.err)
}

func wrapRead(noun string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", noun, err)
}
