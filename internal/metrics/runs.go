package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rondo-engine/rondo"
)

// runMetrics are the counters of runs. Workflows are no label: their names are
// the tenants' to choose, and so is how many there are.
type runMetrics struct {
	ended         *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	steps         *prometheus.CounterVec
	stepSeconds   prometheus.Histogram
	hits          *prometheus.CounterVec
	commitSeconds prometheus.Histogram
	commitSteps   prometheus.Histogram
	refused       prometheus.Counter
	load          *prometheus.GaugeVec
}

// The states of what a process has in hand.
const (
	loadRuns    = "runs"    // driven
	loadWorking = "working" // steps that hold a slot
	loadQueued  = "queued"  // steps that wait for a slot
	loadWaiting = "waiting" // steps that wait for what another computes
)

func (m *Metrics) runMetrics() runMetrics {
	r := runMetrics{
		ended:         m.counters("rondo_runs_ended_total", "Runs that ended, by status.", "status"),
		seconds:       m.histograms("rondo_run_duration_seconds", "Time from the start of runs to their end, by status.", prometheus.ExponentialBuckets(0.005, 4, 11), "status"),
		steps:         m.counters("rondo_run_steps_total", "Attempts of steps that ended and steps that were reused, by status and by why they ran or were reused.", "status", "reason"),
		stepSeconds:   m.histogram("rondo_run_step_duration_seconds", "Time that attempts of steps took; reused ones are not in it.", prometheus.ExponentialBuckets(0.001, 4, 11)),
		hits:          m.counters("rondo_run_cache_hits_total", "Steps that were reused, by where their result was: hot, cold, inflight, cutoff or base.", "tier"),
		commitSeconds: m.histogram("rondo_run_commit_duration_seconds", "Time that commits of batches of runs took.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		commitSteps:   m.histogram("rondo_run_commit_steps", "Steps that one commit wrote.", prometheus.ExponentialBuckets(1, 2, 12)),
		refused:       m.counter("rondo_run_commit_failures_total", "Commits of batches of runs that the store refused; they are tried again."),
		load:          prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rondo_run_load", Help: "What a shard has in hand: runs that are driven, steps working in a slot, queued for one, and waiting for another's result."}, []string{"shard", "state"}),
	}
	m.registry.MustRegister(r.load)
	return r
}

// Runs counts what runs do. Its methods are those that the run service tells.
type Runs struct{ metrics *Metrics }

// Runs is the part that counts runs.
func (m *Metrics) Runs() Runs { return Runs{m} }

// RunEnded counts one run.
func (r Runs) RunEnded(_ string, status rondo.RunStatus, took time.Duration) {
	if r.metrics == nil {
		return
	}
	r.metrics.runs.ended.WithLabelValues(label(string(status))).Inc()
	r.metrics.runs.seconds.WithLabelValues(label(string(status))).Observe(max(took.Seconds(), 0))
}

// StepEnded counts one attempt, or one step that was reused.
func (r Runs) StepEnded(_ string, status rondo.RunStepStatus, reason rondo.ReasonWord, took time.Duration) {
	if r.metrics == nil {
		return
	}
	counted := &r.metrics.runs
	counted.steps.WithLabelValues(label(string(status)), label(string(reason))).Inc()
	if status != rondo.RunStepSkipped {
		counted.stepSeconds.Observe(max(took.Seconds(), 0))
		return
	}
	counted.hits.WithLabelValues(tier(reason)).Inc()
}

// tier says where the result of a reused step was.
func tier(reason rondo.ReasonWord) string {
	switch reason {
	case rondo.ReasonCacheHot:
		return "hot"
	case rondo.ReasonCacheCold:
		return "cold"
	}
	return label(string(reason)) // inflight, cutoff, base
}

// Committed counts one batch that was written or refused.
func (r Runs) Committed(_, steps int, took time.Duration, err error) {
	switch {
	case r.metrics == nil:
	case err != nil:
		r.metrics.runs.refused.Inc()
	default:
		r.metrics.runs.commitSeconds.Observe(max(took.Seconds(), 0))
		r.metrics.runs.commitSteps.Observe(float64(steps))
	}
}

// Load tells what one shard has in hand.
func (r Runs) Load(shard, runs, working, queued, waiting int) {
	if r.metrics == nil {
		return
	}
	number, load := strconv.Itoa(shard), r.metrics.runs.load
	load.WithLabelValues(number, loadRuns).Set(float64(runs))
	load.WithLabelValues(number, loadWorking).Set(float64(working))
	load.WithLabelValues(number, loadQueued).Set(float64(queued))
	load.WithLabelValues(number, loadWaiting).Set(float64(waiting))
}
