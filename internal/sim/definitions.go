package sim

import (
	"context"
	"fmt"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// library is the compiled definitions that schedules draw from. It is built
// once; snapshots are immutable.
type library struct {
	entries []libraryEntry
	byHash  map[string][]byte
}

type libraryEntry struct {
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

var sharedLibrary = sync.OnceValues(newLibrary)

func newLibrary() (*library, error) {
	l := &library{byHash: map[string][]byte{}}
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	for _, source := range sources() {
		draft, err := definition.ParseDraft([]byte(source))
		if err != nil {
			return nil, fmt.Errorf("parse simulated definition: %w", err)
		}
		if report := definition.Validate(draft.Body, env); !report.Valid() {
			return nil, fmt.Errorf("simulated definition %s: %v", draft.Name, report.Errors)
		}
		document, hash, err := definition.Freeze(draft.Body, env)
		if err != nil {
			return nil, fmt.Errorf("freeze simulated definition: %w", err)
		}
		snapshot, err := definition.Compile(document)
		if err != nil {
			return nil, fmt.Errorf("compile simulated definition: %w", err)
		}
		l.entries = append(l.entries, libraryEntry{body: draft.Body, document: document, hash: hash, snapshot: snapshot})
		l.byHash[hash] = document
	}
	return l, nil
}

// sources are small definitions that reach every way a step can go: retries with
// and without an on_failure, timeouts that halt, divert and retry, branches,
// halts, emits, and deadlines that are short enough to be met.
func sources() []string {
	return []string{
		`{"name":"review","workflow_timeout_seconds":7200,"start_step":"consent","steps":{
			"consent":{"kind":"gate_on_consent","params":{"types":["ai"]},"timeout_seconds":60,"transitions":{"on_pass":"ai","on_fail":"no_consent"}},
			"ai":{"kind":"run_ai_review","timeout_seconds":300,"max_retries":3,"retry_base_seconds":5,"transitions":{"on_complete":"sure","on_failure":"no_ai"}},
			"sure":{"kind":"condition","expr":"ai.confidence < 0.7","transitions":{"on_true":"person","on_false":"done"}},
			"person":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"timeout_seconds":3600,"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
			"no_consent":{"kind":"halt","params":{"reason_code":"consent_missing"}},
			"no_ai":{"kind":"halt","params":{"reason_code":"ai_review_failed"}}}}`,
		`{"name":"hasty","workflow_timeout_seconds":600,"start_step":"ai","steps":{
			"ai":{"kind":"run_ai_review","timeout_seconds":40,"max_retries":2,"retry_backoff":"fixed","retry_base_seconds":10,"retry_on_timeout":true,"transitions":{"on_complete":"tell","on_timeout":"person"}},
			"tell":{"kind":"emit_webhook","params":{"event_name":"reviewed","payload_template":{"c":"{{ai.confidence}}"}},"transitions":{"on_complete":"status"}},
			"person":{"kind":"request_human_review","params":{"tier":"sa_qa"},"transitions":{"on_complete":"status"}},
			"status":{"kind":"set_case_status","params":{"status":"done"},"max_retries":1,"retry_backoff":"linear","transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
		`{"name":"plain","workflow_timeout_seconds":900,"start_step":"status","steps":{
			"status":{"kind":"set_case_status","params":{"status":"open"},"max_retries":1,"timeout_seconds":120,"transitions":{"on_complete":"ai"}},
			"ai":{"kind":"run_ai_review","max_retries":1,"transitions":{"on_complete":"done"}},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`,
	}
}
