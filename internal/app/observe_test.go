package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/metrics"
)

func TestCommitsBecomeMetrics(t *testing.T) {
	t.Parallel()
	asked, fresh := rondo.ID{15: 1}, rondo.ID{15: 2}
	instance := &rondo.Instance{ID: rondo.ID{15: 9}, Status: rondo.StatusRunning, Machine: rondo.Machine{
		Live: []rondo.Attempt{
			{StepID: "ai", Kind: "run_ai_review", Status: rondo.StepInProgress, RequestID: asked},
			{StepID: "later", Kind: "run_ai_review", Status: rondo.StepPending, RequestID: fresh},
		},
		Forks: []rondo.Fork{{Attempt: rondo.Attempt{StepID: "both", Kind: "parallel"}}},
	}}
	change := []engine.Change{{Before: instance, After: instance}}
	sent := func(id rondo.ID, stream, payload string) rondo.Outgoing {
		return rondo.Outgoing{EventID: id, Stream: stream, InstanceID: instance.ID, Envelope: []byte(`{"payload":` + payload + `}`)}
	}
	tests := map[string]struct {
		commit engine.Commit
		want   []string
		not    string
	}{
		"a request that went out again": {
			engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(asked, "ai_review.requested", "{}"), sent(fresh, "ai_review.requested", "{}")}},
			[]string{"workflow_request_resent_total 1"},
			"",
		},
		"the first request of a case": {
			engine.Commit{Changes: []engine.Change{{After: instance}}, Sent: []rondo.Outgoing{sent(asked, "ai_review.requested", "{}")}},
			[]string{"workflow_request_resent_total 0"},
			"",
		},
		"the first request after a client let go of the case": {
			engine.Commit{
				Changes: []engine.Change{{Before: &rondo.Instance{Mode: rondo.ModeClientDriven, Machine: instance.Machine}, After: instance}},
				Sent:    []rondo.Outgoing{sent(asked, "ai_review.requested", "{}")},
			},
			[]string{"workflow_request_resent_total 0"},
			"",
		},
		"a case that halts again in the commit that resumed it": {
			engine.Commit{
				Changes: []engine.Change{{Before: &rondo.Instance{Status: rondo.StatusHalted}, After: &rondo.Instance{Status: rondo.StatusHalted}}},
				Sent:    []rondo.Outgoing{sent(fresh, "workflow.halted", `{"reason_code":"consent_missing"}`)},
			},
			[]string{`workflow_halt_total{reason_code="consent_missing"} 1`, `workflow_instance_completed_total{org="",terminal_state="halted"} 1`},
			"",
		},
		"an attempt that was skipped before it began": {
			engine.Commit{Steps: []rondo.Step{{Kind: "run_ai_review", Status: rondo.StepSkipped, CompletedAt: time.Unix(1, 0)}}},
			nil,
			"workflow_step_duration_seconds_sum",
		},
		"a service level of a step": {
			engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(fresh, "workflow.sla_warned", `{"step_id":"ai"}`)}},
			[]string{`workflow_sla_total{kind="run_ai_review",level="warned"} 1`},
			"",
		},
		"a service level of branches": {
			engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(fresh, "workflow.sla_breached", `{"step_id":"both"}`)}},
			[]string{`workflow_sla_total{kind="parallel",level="breached"} 1`},
			"",
		},
		"a service level of a case": {
			engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(fresh, "workflow.sla_breached", `{}`)}},
			[]string{`workflow_sla_total{kind="workflow",level="breached"} 1`},
			"",
		},
		"a step that nobody knows": {
			engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(fresh, "workflow.sla_breached", `{"step_id":"gone"}`)}},
			[]string{`workflow_sla_total{kind="unknown",level="breached"} 1`},
			"",
		},
		"healed and purged": {
			engine.Commit{Healed: map[string]int{"wake": 2, "resend": 1}, Purged: 3},
			[]string{`workflow_liveness_healed_total{cause="wake"} 2`, `workflow_liveness_healed_total{cause="resend"} 1`, "workflow_instance_purged_total 3"},
			"",
		},
		"an ordinary event": {engine.Commit{Changes: change, Sent: []rondo.Outgoing{sent(rondo.ID{15: 7}, "workflow.started", "{}")}}, nil, "workflow_sla_total{"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := metrics.New(metrics.Options{})
			Meter(m).Committed(test.commit)
			page := httptest.NewRecorder()
			m.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			for _, line := range test.want {
				if !strings.Contains(page.Body.String(), line+"\n") {
					t.Errorf("no line %q in\n%s", line, page.Body)
				}
			}
			if test.not != "" && strings.Contains(page.Body.String(), test.not) {
				t.Errorf("there is a line with %q", test.not)
			}
		})
	}
}
