package sim

import (
	"context"
	"fmt"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/definition"
)

// library is the compiled definitions that schedules draw from. It is built
// once; snapshots are immutable.
type library struct {
	entries []libraryEntry
	byHash  map[string][]byte
}

// libraryEntry is a definition and the version that comes after it.
type libraryEntry struct {
	first, next version
	stepMap     map[string]string // what the next version renamed
}

type version struct {
	body     []byte
	document []byte
	hash     string
	snapshot *definition.Snapshot
}

// Snapshot serves the frozen documents to the engine's cache.
func (l *library) Snapshot(_ context.Context, hash string) ([]byte, error) {
	if document, ok := l.byHash[hash]; ok {
		return document, nil
	}
	return nil, rondo.NotFound("snapshot")
}

// warm compiles everything beforehand: a schedule must not depend on what those
// before it have left in the cache.
func (l *library) warm(ctx context.Context, snapshots *caseloop.Snapshots) error {
	for hash := range l.byHash {
		if _, err := snapshots.Get(ctx, hash); err != nil {
			return err
		}
	}
	return ctx.Err()
}

var sharedLibrary = sync.OnceValues(newLibrary)

func newLibrary() (*library, error) {
	l := &library{byHash: map[string][]byte{}}
	for _, source := range sources() {
		first, err := l.compile(source.first)
		if err != nil {
			return nil, err
		}
		next, err := l.compile(source.next)
		if err != nil {
			return nil, err
		}
		l.entries = append(l.entries, libraryEntry{first: first, next: next, stepMap: source.stepMap})
	}
	return l, nil
}

func (l *library) compile(source string) (version, error) {
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	draft, err := definition.ParseDraft([]byte(source))
	if err != nil {
		return version{}, fmt.Errorf("parse simulated definition: %w", err)
	}
	if report := definition.Validate(draft.Body, env); !report.Valid() {
		return version{}, fmt.Errorf("simulated definition %s: %v", draft.Name, report.Errors)
	}
	document, hash, err := definition.Freeze(draft.Body, env)
	if err != nil {
		return version{}, fmt.Errorf("freeze simulated definition: %w", err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		return version{}, fmt.Errorf("compile simulated definition: %w", err)
	}
	l.byHash[hash] = document
	return version{body: draft.Body, document: document, hash: hash, snapshot: snapshot}, nil
}

// source is a definition as a person writes it, and its next version.
type source struct {
	first, next string
	stepMap     map[string]string
}

// heard is the event type that simulated cases wait for.
const heard = "ext.signed"

// sources are small definitions that reach every way a step can go: retries with
// and without an on_failure, timeouts that halt, divert and retry, branches side
// by side, delays, people, awaited events, halts, emits, and deadlines that are
// short enough to be met. Their next versions add, rename, remove and change
// steps.
func sources() []source {
	return []source{
		{
			first: `{"name":"review","workflow_timeout_seconds":7200,"start_step":"consent","steps":{
			"consent":{"kind":"gate_on_consent","params":{"types":["ai"]},"timeout_seconds":60,"transitions":{"on_pass":"ai","on_fail":"no_consent"}},
			"ai":{"kind":"run_ai_review","timeout_seconds":300,"max_retries":3,"retry_base_seconds":5,"transitions":{"on_complete":"sure","on_failure":"no_ai"}},
			"sure":{"kind":"condition","expr":"ai.confidence < 0.7","transitions":{"on_true":"person","on_false":"done"}},
			"person":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"timeout_seconds":3600,"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
			"no_consent":{"kind":"halt","params":{"reason_code":"consent_missing"}},
			"no_ai":{"kind":"halt","params":{"reason_code":"ai_review_failed"}}}}`,
			next: `{"name":"review","workflow_timeout_seconds":7200,"start_step":"consent","steps":{
			"consent":{"kind":"gate_on_consent","params":{"types":["ai"]},"timeout_seconds":90,"transitions":{"on_pass":"scan","on_fail":"no_consent"}},
			"scan":{"kind":"run_ai_review","timeout_seconds":200,"max_retries":3,"retry_base_seconds":5,"transitions":{"on_complete":"sure","on_failure":"no_ai"}},
			"sure":{"kind":"condition","expr":"scan.confidence < 0.65","transitions":{"on_true":"person","on_false":"status"}},
			"person":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"transitions":{"on_complete":"status"}},
			"status":{"kind":"set_case_status","params":{"status":"done"},"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
			"no_consent":{"kind":"halt","params":{"reason_code":"consent_missing"}},
			"no_ai":{"kind":"halt","params":{"reason_code":"ai_review_failed"}}}}`,
			stepMap: map[string]string{"ai": "scan"},
		},
		{
			first: `{"name":"hasty","workflow_timeout_seconds":600,"start_step":"ai","steps":{
			"ai":{"kind":"run_ai_review","timeout_seconds":40,"max_retries":2,"retry_backoff":"fixed","retry_base_seconds":10,"retry_on_timeout":true,"transitions":{"on_complete":"tell","on_timeout":"person"}},
			"tell":{"kind":"emit_webhook","params":{"event_name":"reviewed","payload_template":{"c":"{{ai.confidence}}"}},"transitions":{"on_complete":"status"}},
			"person":{"kind":"request_human_review","params":{"tier":"sa_qa"},"transitions":{"on_complete":"status"}},
			"status":{"kind":"set_case_status","params":{"status":"done"},"max_retries":1,"retry_backoff":"linear","transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
			next: `{"name":"hasty","workflow_timeout_seconds":600,"start_step":"ai","steps":{
			"ai":{"kind":"run_ai_review","max_retries":1,"transitions":{"on_complete":"status"}},
			"status":{"kind":"set_case_status","params":{"status":"done"},"timeout_seconds":100,"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
		},
		{
			first: `{"name":"plain","workflow_timeout_seconds":900,"start_step":"status","steps":{
			"status":{"kind":"set_case_status","params":{"status":"open"},"max_retries":1,"timeout_seconds":120,"transitions":{"on_complete":"ai"}},
			"ai":{"kind":"run_ai_review","max_retries":1,"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
			next: `{"name":"plain","workflow_timeout_seconds":900,"start_step":"ai","steps":{
			"ai":{"kind":"run_ai_review","max_retries":1,"transitions":{"on_complete":"closing"}},
			"closing":{"kind":"set_case_status","params":{"status":"closed"},"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
		},
		{
			first: `{"name":"wide","workflow_timeout_seconds":2400,"start_step":"ready","steps":{
			"ready":{"kind":"set_case_status","params":{"status":"open"},"max_retries":1,"transitions":{"on_complete":"all"}},
			"all":{"kind":"parallel","params":{"branches":{"a":"ai","b":"inner","c":"pause"}},"transitions":{"on_complete":"done"}},
			"ai":{"kind":"run_ai_review","timeout_seconds":300,"max_retries":2,"retry_base_seconds":5,"transitions":{"on_complete":"JOIN"}},
			"inner":{"kind":"parallel","timeout_seconds":1200,"max_retries":1,"params":{"branches":{"d":"look","e":"hear"},"join":"any"},"transitions":{"on_complete":"JOIN"}},
			"look":{"kind":"manual","params":{"title":"Look","outcomes":["fine","bad"]},"timeout_seconds":900,"transitions":{"fine":"JOIN","bad":"stop"}},
			"hear":{"kind":"wait_for_event","params":{"event_type":"ext.signed","match":"event.payload.ok"},"transitions":{"on_event":"JOIN"}},
			"pause":{"kind":"delay","params":{"seconds":30},"transitions":{"on_complete":"status"}},
			"status":{"kind":"set_case_status","params":{"status":"done"},"transitions":{"on_complete":"JOIN"}},
			"stop":{"kind":"halt","params":{"reason_code":"step_failed"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
			next: `{"name":"wide","workflow_timeout_seconds":2400,"start_step":"ready","steps":{
			"ready":{"kind":"set_case_status","params":{"status":"open"},"transitions":{"on_complete":"every"}},
			"every":{"kind":"parallel","params":{"branches":{"a":"ai","b":"inner","c":"pause"},"join":{"at_least":2}},"transitions":{"on_complete":"done"}},
			"ai":{"kind":"run_ai_review","transitions":{"on_complete":"check"}},
			"check":{"kind":"request_human_review","params":{"tier":"sa_qa"},"timeout_seconds":600,"transitions":{"on_complete":"JOIN"}},
			"inner":{"kind":"parallel","params":{"branches":{"d":"look","e":"hear"}},"transitions":{"on_complete":"JOIN"}},
			"look":{"kind":"manual","params":{"title":"Look","outcomes":["fine"]},"transitions":{"fine":"JOIN"}},
			"hear":{"kind":"wait_for_event","params":{"event_type":"ext.signed"},"timeout_seconds":500,"transitions":{"on_event":"JOIN","on_timeout":"JOIN"}},
			"pause":{"kind":"delay","params":{"seconds":10},"transitions":{"on_complete":"JOIN"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
			stepMap: map[string]string{"all": "every"},
		},
	}
}
