package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/metrics"
)

func TestEveryMethodShowsUnderItsDocumentedName(t *testing.T) {
	t.Parallel()
	instance := &rondo.Instance{OrgID: "org-1", ProductID: "derm", DefinitionID: rondo.ID{0: 1}, Mode: rondo.ModeActive}
	tests := map[string]struct {
		do   func(*metrics.Metrics)
		want []string
	}{
		"started": {
			func(m *metrics.Metrics) { m.InstanceStarted(instance); m.InstanceStarted(instance) },
			[]string{`workflow_instance_started_total{definition="01000000-0000-0000-0000-000000000000",mode="active",org="org-1",product="derm"} 2`},
		},
		"ended": {
			func(m *metrics.Metrics) { m.InstanceEnded("org-1", metrics.EndedSuperseded) },
			[]string{`workflow_instance_completed_total{org="org-1",terminal_state="superseded"} 1`},
		},
		"halted": {
			func(m *metrics.Metrics) { m.Halted("step_timeout") },
			[]string{`workflow_halt_total{reason_code="step_timeout"} 1`},
		},
		"step": {
			func(m *metrics.Metrics) { m.StepEnded("run_ai_review", 0.2) },
			[]string{
				`workflow_step_duration_seconds_bucket{kind="run_ai_review",le="0.1"} 0`,
				`workflow_step_duration_seconds_bucket{kind="run_ai_review",le="0.5"} 1`,
				`workflow_step_duration_seconds_sum{kind="run_ai_review"} 0.2`,
			},
		},
		"intervention": {
			func(m *metrics.Metrics) { m.Intervened("resume") },
			[]string{`workflow_intervention_total{action="resume"} 1`},
		},
		"event": {
			func(m *metrics.Metrics) { m.EventJudged(rondo.OutcomeStale) },
			[]string{`workflow_event_total{outcome="stale"} 1`},
		},
		"commit": {
			func(m *metrics.Metrics) { m.Commit(32, 0.004) },
			[]string{
				`rondo_commit_batch_inputs_bucket{le="16"} 0`,
				`rondo_commit_batch_inputs_bucket{le="32"} 1`,
				`rondo_commit_duration_seconds_count 1`,
			},
		},
		"dead letters and parked": {
			func(m *metrics.Metrics) { m.DeadLettered(3); m.DeadLettered(0); m.Parked(2) },
			[]string{`rondo_dead_letters_total 3`, `rondo_parked_events_total 2`},
		},
		"turns": {
			func(m *metrics.Metrics) {
				m.Chat().Turn("send", 20*time.Millisecond, 30*time.Millisecond, nil)
				m.Chat().Turn("send", 0, time.Millisecond, &rondo.Error{Code: rondo.CodeConversationBusy})
			},
			[]string{
				`rondo_chat_turns_total{kind="send",result="ok"} 1`, `rondo_chat_turns_total{kind="send",result="conversation_busy"} 1`,
				`rondo_chat_turn_duration_seconds_count{kind="send"} 2`, `rondo_chat_agent_duration_seconds_count 1`,
			},
		},
		"leases and timers of conversations": {
			func(m *metrics.Metrics) {
				m.Chat().Contended()
				m.Chat().Lost()
				m.Chat().Fired(20 * time.Millisecond)
				m.Chat().SetBreaker("copilot", true)
			},
			[]string{
				`rondo_chat_contended_total 1`, `rondo_chat_lease_lost_total 1`, `rondo_chat_timer_lateness_seconds_bucket{le="0.04"} 1`,
				`rondo_chat_breaker_open{agent="copilot"} 1`,
			},
		},
		"runs": {
			func(m *metrics.Metrics) {
				m.Runs().RunEnded("campaign", rondo.RunCompleted, 2*time.Second)
				m.Runs().StepEnded("campaign", rondo.RunStepCompleted, rondo.ReasonFirstRun, 5*time.Millisecond)
				m.Runs().StepEnded("campaign", rondo.RunStepSkipped, rondo.ReasonCacheHot, 0)
				m.Runs().StepEnded("campaign", rondo.RunStepSkipped, rondo.ReasonBase, 0)
			},
			[]string{
				`rondo_runs_ended_total{status="completed"} 1`, `rondo_run_duration_seconds_sum{status="completed"} 2`,
				`rondo_run_steps_total{reason="first_run",status="completed"} 1`, `rondo_run_steps_total{reason="cache_hot",status="skipped"} 1`,
				`rondo_run_step_duration_seconds_count 1`, `rondo_run_cache_hits_total{tier="hot"} 1`, `rondo_run_cache_hits_total{tier="base"} 1`,
			},
		},
		"commits and load of runs": {
			func(m *metrics.Metrics) {
				m.Runs().Committed(2, 100, 4*time.Millisecond, nil)
				m.Runs().Committed(2, 100, time.Second, &rondo.Error{Code: rondo.CodeUnavailable})
				m.Runs().Load(0, 3, 10, 7, 2)
				m.Runs().Load(0, 1, 10, 7, 2)
			},
			[]string{
				`rondo_run_commit_duration_seconds_count 1`, `rondo_run_commit_steps_sum 100`, `rondo_run_commit_failures_total 1`,
				`rondo_run_load{shard="0",state="runs"} 1`, `rondo_run_load{shard="0",state="working"} 10`,
				`rondo_run_load{shard="0",state="queued"} 7`, `rondo_run_load{shard="0",state="waiting"} 2`,
			},
		},
		"gauges": {
			func(m *metrics.Metrics) {
				m.SetOutbox(7, 1.5)
				m.SetTimerLag(-2)
				m.SetBusLag([]metrics.Lag{{Group: "orchestrator", Stream: "case.created", Entries: 9}})
			},
			[]string{`rondo_outbox_backlog 7`, `rondo_outbox_age_seconds 1.5`, `rondo_timer_lag_seconds 0`, `rondo_bus_lag{group="orchestrator",stream="case.created"} 9`},
		},
		"what waits": {
			func(m *metrics.Metrics) { m.SetWaiting(3, 2) },
			[]string{`rondo_parked_events 3`, `rondo_dead_letters_open 2`},
		},
		"a group that is gone": {
			func(m *metrics.Metrics) {
				m.SetBusLag([]metrics.Lag{{Group: "gone", Stream: "a", Entries: 1}})
				m.SetBusLag([]metrics.Lag{{Group: "g", Stream: "a", Entries: 2}, {Group: "http:acme:x", Stream: "a", Entries: 3, Tenant: true}})
			},
			[]string{"# TYPE rondo_bus_lag gauge\nrondo_bus_lag{group=\"g\",stream=\"a\"} 2\nrondo_bus_lag{group=\"http:acme:x\",stream=\"a\"} 3"},
		},
		"a stream that has room again": {
			func(m *metrics.Metrics) {
				m.SetHeld([]string{"a", "b"})
				m.SetHeld([]string{"b"})
			},
			[]string{"# TYPE rondo_bus_held_streams gauge\nrondo_bus_held_streams{stream=\"b\"} 1"},
		},
		"service levels, healing, retention": {
			func(m *metrics.Metrics) {
				m.SLA("breached", "run_ai_review")
				m.Healed("timer", 2)
				m.Healed("token", 0)
				m.Resent(4)
				m.Purged(5)
			},
			[]string{
				`workflow_sla_total{kind="run_ai_review",level="breached"} 1`, `workflow_liveness_healed_total{cause="timer"} 2`,
				`workflow_request_resent_total 4`, `workflow_instance_purged_total 5`,
			},
		},
		"http": {
			func(m *metrics.Metrics) { m.HTTP("GET", "/workflow-instances/{id}", 404, 0.001) },
			[]string{
				`rondo_http_requests_total{method="GET",route="/workflow-instances/{id}",status="404"} 1`,
				`rondo_http_request_duration_seconds_count{route="/workflow-instances/{id}"} 1`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := metrics.New(metrics.Options{})
			test.do(m)
			page := scrape(t, m)
			for _, line := range test.want {
				if !strings.Contains(page, line+"\n") {
					t.Errorf("no line %q in\n%s", line, page)
				}
			}
		})
	}
}

func TestTenantLabelsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{NoTenantLabels: true})
	m.InstanceStarted(&rondo.Instance{OrgID: "org-1", ProductID: "derm", DefinitionID: rondo.ID{0: 1}, Mode: rondo.ModeActive})
	m.InstanceStarted(&rondo.Instance{OrgID: "org-2", ProductID: "onco", DefinitionID: rondo.ID{0: 2}, Mode: rondo.ModeActive})
	m.InstanceEnded("org-1", metrics.EndedCompleted)
	m.SetBusLag([]metrics.Lag{{Group: "http:org-1:g", Stream: "a", Entries: 2, Tenant: true}, {Group: "http:org-2:g", Stream: "a", Entries: 3, Tenant: true}})
	page := scrape(t, m)
	if want := `rondo_bus_lag{group="http",stream="a"} 5`; !strings.Contains(page, want) {
		t.Errorf("the groups of two orgs should share one series %q:\n%s", want, page)
	}
	if want := `workflow_instance_started_total{definition="",mode="active",org="",product=""} 2`; !strings.Contains(page, want) {
		t.Errorf("the two orgs should share one series %q:\n%s", want, page)
	}
	for _, secret := range []string{"org-1", "org-2", "derm", "onco"} {
		if strings.Contains(page, secret) {
			t.Errorf("%q is still shown", secret)
		}
	}
}

func TestNilMetricsCountNothingAndDoNotPanic(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	m.InstanceStarted(&rondo.Instance{})
	m.InstanceEnded("o", metrics.EndedHalted)
	m.Halted("x")
	m.StepEnded("k", 1)
	m.Intervened("halt")
	m.EventJudged(rondo.OutcomeApplied)
	m.Commit(1, 1)
	m.DeadLettered(1)
	m.Parked(1)
	m.SetOutbox(1, 1)
	m.SetTimerLag(1)
	m.SetBusLag([]metrics.Lag{{}})
	m.SetHeld([]string{"a"})
	m.SetWaiting(1, 1)
	m.SLA("warning", "k")
	m.Healed("timer", 1)
	m.Resent(1)
	m.Purged(1)
	m.HTTP("GET", "/", 200, 1)
	m.HTTPStream("GET", "/stream", 200)
	if m.Handler() == nil || m.Registry() == nil {
		t.Error("a nil Metrics still has a handler and a registry")
	}
}

func TestLabelsThatAreNotUTF8AreMendedInsteadOfPanicking(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.InstanceEnded("org-\xff", metrics.EndedCompleted)
	if page := scrape(t, m); !strings.Contains(page, `org="org-`+"\uFFFD"+`"`) {
		t.Errorf("the odd org is missing:\n%s", page)
	}
}

func TestTwoSetsDoNotShareCounters(t *testing.T) {
	t.Parallel()
	a, b := metrics.New(metrics.Options{Runtime: true}), metrics.New(metrics.Options{Runtime: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { a.Halted("manual_halt") })
	}
	wg.Wait()
	if page := scrape(t, a); !strings.Contains(page, `workflow_halt_total{reason_code="manual_halt"} 8`) || !strings.Contains(page, "go_goroutines") {
		t.Errorf("a should have counted 8 halts and show the runtime:\n%s", page)
	}
	if page := scrape(t, b); strings.Contains(page, "manual_halt") {
		t.Error("b shows what only a counted")
	}
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(rec.Body)
	if err != nil || rec.Code != 200 {
		t.Fatalf("scrape: status %d, %v", rec.Code, err)
	}
	return string(body)
}
