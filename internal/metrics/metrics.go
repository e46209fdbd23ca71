// Package metrics counts what Rondo does and shows it to Prometheus.
//
// A Metrics owns its registry: two engines in one process never share a
// counter, and nothing registers itself globally. Every method is safe for
// concurrent use, never blocks on I/O and never fails; a nil *Metrics is valid
// and counts nothing, so that callers need no switch.
//
// Label values come from a bounded set, except org, product and definition,
// which Options can turn off. No label ever holds a case, a user or a payload.
//
// It imports the root package and the Prometheus client.
package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rondo-engine/rondo"
)

// Options choose what is measured. The zero value measures everything but the
// process itself.
type Options struct {
	// NoTenantLabels leaves the org, product and definition labels empty, which
	// keeps the number of series small with many tenants. Default false.
	NoTenantLabels bool
	// Runtime adds the Go runtime and process collectors. Default false.
	Runtime bool
}

// The terminal states of InstanceEnded: where an instance came to rest. Halted
// is counted each time an instance halts.
const (
	EndedCompleted  = "completed"
	EndedHalted     = "halted"
	EndedCancelled  = "cancelled"
	EndedSuperseded = "superseded"
)

// Metrics is one set of counters with its own registry.
type Metrics struct {
	registry *prometheus.Registry
	tenants  bool

	started       *prometheus.CounterVec
	ended         *prometheus.CounterVec
	stepSeconds   *prometheus.HistogramVec
	halts         *prometheus.CounterVec
	interventions *prometheus.CounterVec
	events        *prometheus.CounterVec
	sla           *prometheus.CounterVec
	healed        *prometheus.CounterVec
	resent        prometheus.Counter
	purged        prometheus.Counter

	batchInputs   prometheus.Histogram
	commitSeconds prometheus.Histogram
	deadLetters   prometheus.Counter
	parked        prometheus.Counter
	openLetters   prometheus.Gauge
	parkedNow     prometheus.Gauge

	outboxRows  prometheus.Gauge
	outboxAge   prometheus.Gauge
	timerLag    prometheus.Gauge
	busLag      *prometheus.GaugeVec
	busHeld     *prometheus.GaugeVec
	httpSeconds *prometheus.HistogramVec
	httpTotal   *prometheus.CounterVec

	chat chatMetrics
	runs runMetrics
}

// New makes a set of counters, all at zero.
func New(opts Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), tenants: !opts.NoTenantLabels}

	m.started = m.counters("workflow_instance_started_total", "Instances started.", "org", "product", "definition", "mode")
	m.ended = m.counters("workflow_instance_completed_total", "Instances that came to rest, by state.", "org", "terminal_state")
	m.stepSeconds = m.histograms("workflow_step_duration_seconds", "Time from the start of an attempt to its end.", stepBuckets(), "kind")
	m.halts = m.counters("workflow_halt_total", "Halts, by reason code.", "reason_code")
	m.interventions = m.counters("workflow_intervention_total", "Interventions, by action.", "action")
	m.events = m.counters("workflow_event_total", "Inbound events, by outcome.", "outcome")

	m.sla = m.counters("workflow_sla_total", "Service levels that were warned about or breached, by kind of step; workflow = the case as a whole.", "level", "kind")
	m.healed = m.counters("workflow_liveness_healed_total", "Cases that had lost what would wake them and were armed again, by cause.", "cause")
	m.resent = m.counter("workflow_request_resent_total", "Requests that were published again because no answer came or the bus lost them.")
	m.purged = m.counter("workflow_instance_purged_total", "Finished instances that retention removed.")

	m.batchInputs = m.histogram("rondo_commit_batch_inputs", "Inputs decided by one commit.", prometheus.ExponentialBuckets(1, 2, 11))
	m.commitSeconds = m.histogram("rondo_commit_duration_seconds", "Time from loading a batch to its durable commit.", prometheus.ExponentialBuckets(0.00025, 2, 15))
	m.deadLetters = m.counter("rondo_dead_letters_total", "Inbound entries that could never be applied.")
	m.parked = m.counter("rondo_parked_events_total", "Inbound events kept until their case can use them.")
	m.openLetters = m.gauge("rondo_dead_letters_open", "Dead letters that nobody has replayed or discarded.")
	m.parkedNow = m.gauge("rondo_parked_events", "Inbound events that are parked now.")

	m.outboxRows = m.gauge("rondo_outbox_backlog", "Committed events that are not yet published.")
	m.outboxAge = m.gauge("rondo_outbox_age_seconds", "Age of the oldest event that is not yet published; 0 = none.")
	m.timerLag = m.gauge("rondo_timer_lag_seconds", "How late the most overdue timer is; 0 = none is due.")
	m.busLag = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rondo_bus_lag", Help: "Entries of a stream that a consumer group has not acknowledged."}, []string{"group", "stream"})
	m.busHeld = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rondo_bus_held_streams", Help: "1 for every stream above the cap, whose events wait in the outbox."}, []string{"stream"})
	m.registry.MustRegister(m.busLag, m.busHeld)

	m.httpTotal = m.counters("rondo_http_requests_total", "HTTP requests answered.", "method", "route", "status")
	m.httpSeconds = m.histograms("rondo_http_request_duration_seconds", "Time to answer an HTTP request, streams left out.", prometheus.ExponentialBuckets(0.0005, 2, 15), "route")

	m.chat = m.chatMetrics()
	m.runs = m.runMetrics()

	if opts.Runtime {
		m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return m
}

// Handler serves the counters in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry is where an embedding program adds collectors of its own.
func (m *Metrics) Registry() *prometheus.Registry {
	if m == nil {
		return prometheus.NewRegistry()
	}
	return m.registry
}

// InstanceStarted counts one new instance.
func (m *Metrics) InstanceStarted(i *rondo.Instance) {
	if m == nil || i == nil {
		return
	}
	org, product, definition := "", "", ""
	if m.tenants {
		org, product, definition = i.OrgID, i.ProductID, i.DefinitionID.String()
	}
	m.started.WithLabelValues(label(org), label(product), definition, string(i.Mode)).Inc()
}

// InstanceEnded counts one instance that came to rest in one of the Ended
// states.
func (m *Metrics) InstanceEnded(org, terminalState string) {
	if m == nil {
		return
	}
	if !m.tenants {
		org = ""
	}
	m.ended.WithLabelValues(label(org), terminalState).Inc()
}

// Halted counts one halt.
func (m *Metrics) Halted(reasonCode string) {
	if m != nil {
		m.halts.WithLabelValues(label(reasonCode)).Inc()
	}
}

// StepEnded records how long one attempt took.
func (m *Metrics) StepEnded(kind string, seconds float64) {
	if m != nil {
		m.stepSeconds.WithLabelValues(label(kind)).Observe(max(seconds, 0))
	}
}

// Intervened counts one intervention.
func (m *Metrics) Intervened(action string) {
	if m != nil {
		m.interventions.WithLabelValues(action).Inc()
	}
}

// EventJudged counts one inbound event by its outcome.
func (m *Metrics) EventJudged(outcome rondo.Outcome) {
	if m != nil {
		m.events.WithLabelValues(string(outcome)).Inc()
	}
}

// Commit records one durable batch.
func (m *Metrics) Commit(inputs int, seconds float64) {
	if m != nil {
		m.batchInputs.Observe(float64(inputs))
		m.commitSeconds.Observe(max(seconds, 0))
	}
}

// DeadLettered counts entries that were put aside for good.
func (m *Metrics) DeadLettered(n int) {
	if m != nil && n > 0 {
		m.deadLetters.Add(float64(n))
	}
}

// Parked counts events that were parked.
func (m *Metrics) Parked(n int) {
	if m != nil && n > 0 {
		m.parked.Add(float64(n))
	}
}

// SetOutbox tells how much waits to be published, and for how long the oldest
// has waited.
func (m *Metrics) SetOutbox(count int, ageSeconds float64) {
	if m != nil {
		m.outboxRows.Set(float64(count))
		m.outboxAge.Set(max(ageSeconds, 0))
	}
}

// SetTimerLag tells how late the most overdue timer is.
func (m *Metrics) SetTimerLag(seconds float64) {
	if m != nil {
		m.timerLag.Set(max(seconds, 0))
	}
}

// SLA counts one service level that was warned about or breached.
func (m *Metrics) SLA(level, kind string) {
	if m != nil {
		m.sla.WithLabelValues(level, label(kind)).Inc()
	}
}

// Healed counts cases that were armed again.
func (m *Metrics) Healed(cause string, n int) {
	if m != nil && n > 0 {
		m.healed.WithLabelValues(cause).Add(float64(n))
	}
}

// Resent counts requests that were published again.
func (m *Metrics) Resent(n int) {
	if m != nil && n > 0 {
		m.resent.Add(float64(n))
	}
}

// Purged counts instances that retention removed.
func (m *Metrics) Purged(n int) {
	if m != nil && n > 0 {
		m.purged.Add(float64(n))
	}
}

// SetWaiting tells how many events are parked and how many dead letters are open.
func (m *Metrics) SetWaiting(parked, deadLetters int) {
	if m != nil {
		m.parkedNow.Set(float64(parked))
		m.openLetters.Set(float64(deadLetters))
	}
}

// Lag is how many entries of a stream a group has not acknowledged. A Tenant
// group has an organisation in its name.
type Lag struct {
	Group, Stream string
	Entries       int64
	Tenant        bool
}

// SetBusLag tells how far every group is behind. Groups that are gone are shown
// no more; those of tenants share the group "http" when tenant labels are off.
func (m *Metrics) SetBusLag(lags []Lag) {
	if m == nil {
		return
	}
	m.busLag.Reset()
	for _, lag := range lags {
		group := lag.Group
		if lag.Tenant && !m.tenants {
			group = "http"
		}
		m.busLag.WithLabelValues(label(group), label(lag.Stream)).Add(float64(lag.Entries))
	}
}

// SetHeld tells which streams are above the cap. Others are shown no more.
func (m *Metrics) SetHeld(streams []string) {
	if m == nil {
		return
	}
	m.busHeld.Reset()
	for _, stream := range streams {
		m.busHeld.WithLabelValues(label(stream)).Set(1)
	}
}

// HTTPStream counts a stream that has ended. How long it lasted says nothing of
// how fast anything was answered, so it is not measured.
func (m *Metrics) HTTPStream(method, route string, status int) {
	if m != nil {
		m.httpTotal.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	}
}

// HTTP counts one answered request. route is the pattern, never the path.
func (m *Metrics) HTTP(method, route string, status int, seconds float64) {
	if m != nil {
		m.httpTotal.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
		m.httpSeconds.WithLabelValues(route).Observe(max(seconds, 0))
	}
}
