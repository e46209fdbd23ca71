package flow

import (
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Why an event did not move its case; kept in the ledger. One that moved it and
// broke its step's contract has haltContractViolation there, with what is wrong.
const (
	errNoDefinition    = "no_definition"
	errBeforeLaunch    = "before_launch"
	errProductMismatch = "product_mismatch: the case belongs to another product"
	errTypeMismatch    = "type_mismatch: the correlation id belongs to a step that is not answered by this event type"
	errUnknownAttempt  = "unknown_correlation: no attempt that this event could answer has this correlation_id; answer with that of the request"
	errTooManyParked   = "too_many_parked"
	errParkedTooLong   = "parked_too_long"
	errNoMatch         = "no_match: the event is not what is waited for; the match is false at step "
	errUnusedType      = "unused_type: no step of the definition is answered by this event type"
)

// judgement is the verdict on an event before anything is changed.
type judgement struct {
	outcome rondo.Outcome
	verdict string
	err     string
	live    int         // applied: the attempt that it ends
	match   *evaluation // applied to a wait: what its match came to; nil for the answer to a request
}

// decideEvent judges an inbound event, applies it if it can be, and writes its
// ledger row.
func decideEvent(s State, in Event, env Env) Decision {
	m := newMove(s, env)
	e := in.Envelope
	if in.Relay {
		m.relay(in)
	}
	m.cause = e.EventID.String()
	row := rondo.EventRecord{
		ID:         env.NewID(),
		OrgID:      e.OrgID,
		EventID:    e.EventID,
		CaseID:     e.CaseID,
		Type:       e.Type,
		Envelope:   in.Raw,
		ReceivedAt: m.now,
	}
	m.decided.Event = &row
	note(&row, m.capParked(m.verdictOn(s, in)))
	if m.inst != nil {
		row.InstanceID = m.inst.ID
	}
	m.settleParked()
	return m.finish()
}

// verdictOn judges an event of a case, with an instance or without, and does
// what it means.
func (m *move) verdictOn(s State, in Event) judgement {
	if m.inst != nil {
		return m.receive(in.Envelope)
	}
	m.expireParked()
	switch {
	case in.Envelope.Type == event.TypeCaseCreated:
		return m.startCase(s, in)
	case m.elsewhere(in.Envelope.Type):
		return judgement{outcome: rondo.OutcomeNoted}
	}
	return judgement{outcome: rondo.OutcomeParked}
}

// note writes a judgement into a ledger row; see rondo.EventRecord.Verdict.
func note(row *rondo.EventRecord, j judgement) {
	row.Outcome, row.Error = j.outcome, j.err
	row.Processed = j.outcome != rondo.OutcomeParked
	switch last := verdictFor(j.outcome); {
	case row.Verdict == "":
		row.Verdict = j.verdict
	case last == verdictRepeated || last == verdictUnknown:
		row.Verdict = last
	}
}

// receive judges an event of a case that has an instance, and applies it.
func (m *move) receive(e *event.Envelope) judgement {
	m.announceLevels()
	m.deadline()
	j := m.judge(e)
	if j.outcome == rondo.OutcomeApplied {
		j = m.applied(j, e)
	}
	return j
}

// applied applies an event and says what is wrong with it, if anything is.
func (m *move) applied(j judgement, e *event.Envelope) judgement {
	if broken := m.apply(j, e); broken != nil && broken.violation {
		j.err = haltContractViolation + ": " + storable(broken.message)
	}
	return j
}

// storable keeps words in which a member's name may occur fit for a text column.
func storable(words string) string {
	const most = 1000
	words = strings.ReplaceAll(words, "\x00", "\ufffd")
	return strings.ToValidUTF8(words[:min(len(words), most)], "")
}

// judge says what an event means for the instance as it stands. It changes
// nothing.
func (m *move) judge(e *event.Envelope) judgement {
	j := m.judgeType(e)
	if m.inst.Mode == rondo.ModeClientDriven && j.verdict == "" {
		j.verdict = verdictFor(j.outcome)
	}
	return j
}

func (m *move) judgeType(e *event.Envelope) judgement {
	if e.Type == event.TypeCaseCreated {
		return judgement{outcome: rondo.OutcomeRepeated}
	}
	waits := len(m.snap.Waiting(e.Type)) > 0
	uses := waits
	for _, step := range m.snap.StepsFor(e.Type) {
		uses = true
		waits = waits || step.Contract.Behaviour == definition.BehaviourRequest
	}
	switch {
	case uses && !waits, !uses && m.elsewhere(e.Type):
		return judgement{outcome: rondo.OutcomeNoted}
	case !uses:
		return judgement{outcome: rondo.OutcomeUnmatched, err: errUnusedType}
	case e.OrgID != m.inst.OrgID || e.CaseID != m.inst.CaseID:
		return judgement{outcome: rondo.OutcomeRejected, err: "case_mismatch: the event belongs to another case"}
	case e.ProductID != m.inst.ProductID:
		return judgement{outcome: rondo.OutcomeRejected, err: errProductMismatch}
	case m.inst.Mode == rondo.ModeClientDriven:
		return m.judgeObserved(e)
	}
	return m.judgeAnswer(e)
}

// elsewhere reports whether only other consumers care for an event type: the
// answer to an emitted event, or a type of the catalogue that answers no step.
func (m *move) elsewhere(eventType string) bool {
	switch {
	case eventType == event.TypeWebhookEmitCompleted:
		return true
	case strings.HasSuffix(eventType, ".completed"), strings.HasSuffix(eventType, ".failed"):
		return false
	}
	return m.env.Known != nil && m.env.Known(eventType)
}

// judgeAnswer judges in active mode: only the correlation id of an attempt that
// is in flight answers it. Waits do not mind the correlation. Anything else is
// stale, unless a wait that is still to come may take it.
func (m *move) judgeAnswer(e *event.Envelope) judgement {
	answer := m.answerTo(e)
	if answer.outcome != rondo.OutcomeStale && answer.outcome != rondo.OutcomeRejected {
		return answer
	}
	if i, match := m.awaits(e); i >= 0 {
		return m.acceptAwaited(i, match)
	}
	if m.waitAhead(e.Type) != "" {
		return judgement{outcome: rondo.OutcomeParked}
	}
	if answer.outcome == rondo.OutcomeStale && m.onlyAwaited(e.Type) {
		return m.missed(e.Type)
	}
	return answer
}

// answerTo finds the request that an event answers by its correlation id.
func (m *move) answerTo(e *event.Envelope) judgement {
	for i := range m.inst.Machine.Live {
		att := &m.inst.Machine.Live[i]
		if att.CorrelationID != e.CorrelationID || att.Status != rondo.StepInProgress {
			continue
		}
		if !m.answers(att, e.Type) {
			return judgement{outcome: rondo.OutcomeRejected, err: errTypeMismatch}
		}
		return m.accept(i)
	}
	if m.neverAsked(e) {
		return judgement{outcome: rondo.OutcomeStale, err: errUnknownAttempt}
	}
	return judgement{outcome: rondo.OutcomeStale}
}

// neverAsked reports whether a correlation id that is not in flight is certain to
// be no attempt's: nothing that an event of this type could answer has ended.
// Where something has, the id may be its own; the state does not keep the ids of
// ended attempts, so nothing is claimed.
func (m *move) neverAsked(e *event.Envelope) bool {
	inst := m.inst
	if _, consumed := inst.Machine.Consumed[e.CorrelationID]; consumed || !inst.SupersedesID.IsZero() {
		return false // known, or it may answer the instance before
	}
	asked := false
	for _, step := range m.snap.StepsFor(e.Type) {
		asked = asked || step.Contract.Behaviour == definition.BehaviourRequest
	}
	if _, err := rondo.ParseID(e.CorrelationID); err != nil || !asked {
		return asked // Rondo gives attempts nothing but UUIDs
	}
	for id, life := range inst.Machine.Steps {
		step := m.snap.Steps[id] // nil = a migration has left it behind
		if step != nil && !step.Contract.AnsweredBy(e.Type) {
			continue
		}
		open := 0
		for i := range inst.Machine.Live {
			if inst.Machine.Live[i].StepID == id {
				open++
			}
		}
		if life.Attempts > open {
			return false
		}
	}
	return true
}

// accept says that an event ends a live attempt: now, or when the halted case is
// resumed.
func (m *move) accept(i int) judgement {
	if m.inst.Status == rondo.StatusHalted {
		return judgement{outcome: rondo.OutcomeParked}
	}
	return judgement{outcome: rondo.OutcomeApplied, live: i}
}

// acceptAwaited is accept for an event that ends a wait.
func (m *move) acceptAwaited(i int, match *evaluation) judgement {
	j := m.accept(i)
	j.match = match
	if match.err != nil && j.outcome == rondo.OutcomeApplied {
		j.err = haltConditionError + ": " + match.err.Error()
	}
	return j
}

// answers reports whether an event type ends attempts of this step.
func (m *move) answers(att *rondo.Attempt, eventType string) bool {
	if !m.behaves(att, definition.BehaviourRequest) {
		return false
	}
	return m.snap.Steps[att.StepID].Contract.AnsweredBy(eventType)
}

// relay passes an inbound event on to its own stream. It counts to the instance
// only while that can still send.
func (m *move) relay(in Event) {
	out := rondo.Outgoing{
		Stream: in.Envelope.Type, OrgID: in.Envelope.OrgID, EventID: in.Envelope.EventID,
		Envelope: in.Raw, CreatedAt: m.now, Relayed: true,
	}
	if m.inst != nil && !m.inst.Status.Terminal() {
		out.InstanceID = m.inst.ID
	}
	m.decided.Outbox = append(m.decided.Outbox, out)
}
