package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rondo-engine/rondo"
)

// chatMetrics are the counters of conversations.
type chatMetrics struct {
	turns        *prometheus.CounterVec
	turnSeconds  *prometheus.HistogramVec
	agentSeconds prometheus.Histogram
	contended    prometheus.Counter
	lost         prometheus.Counter
	timerLate    prometheus.Histogram
	breaker      *prometheus.GaugeVec
}

// resultOK is the result of a turn that was committed; any other is the code of
// its error.
const resultOK = "ok"

func (m *Metrics) chatMetrics() chatMetrics {
	c := chatMetrics{
		turns:        m.counters("rondo_chat_turns_total", "Turns of conversations, by kind and result: ok, or the code of the error.", "kind", "result"),
		turnSeconds:  m.histograms("rondo_chat_turn_duration_seconds", "Time from taking a turn in to answering it, agent included.", prometheus.ExponentialBuckets(0.0005, 2, 17), "kind"),
		agentSeconds: m.histogram("rondo_chat_agent_duration_seconds", "Time that agents took to answer.", prometheus.ExponentialBuckets(0.005, 2, 14)),
		contended:    m.counter("rondo_chat_contended_total", "Turns that met a conversation whose lease another turn held."),
		lost:         m.counter("rondo_chat_lease_lost_total", "Turns that lost their lease and wrote nothing."),
		timerLate:    m.histogram("rondo_chat_timer_lateness_seconds", "How late timers of conversations fired; the count is how many did.", prometheus.ExponentialBuckets(0.01, 4, 10)),
		breaker:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rondo_chat_breaker_open", Help: "1 while the circuit breaker of an agent is open: it is not called."}, []string{"agent"}),
	}
	m.registry.MustRegister(c.breaker)
	return c
}

// Chat counts what conversations do. Its methods are those that the turn service
// tells.
type Chat struct{ metrics *Metrics }

// Chat is the part that counts conversations.
func (m *Metrics) Chat() Chat { return Chat{m} }

// Turn counts one turn that was committed or failed. agent is zero when no agent
// was asked.
func (c Chat) Turn(kind string, agent, total time.Duration, err error) {
	if c.metrics == nil {
		return
	}
	result := resultOK
	if err != nil {
		result = string(rondo.CodeOf(err))
	}
	chat := &c.metrics.chat
	chat.turns.WithLabelValues(label(kind), label(result)).Inc()
	chat.turnSeconds.WithLabelValues(label(kind)).Observe(max(total.Seconds(), 0))
	if agent > 0 {
		chat.agentSeconds.Observe(agent.Seconds())
	}
}

// Contended counts one turn that met a held lease.
func (c Chat) Contended() {
	if c.metrics != nil {
		c.metrics.chat.contended.Inc()
	}
}

// Lost counts one lease that was lost under a turn.
func (c Chat) Lost() {
	if c.metrics != nil {
		c.metrics.chat.lost.Inc()
	}
}

// Fired counts one timer that moved a conversation.
func (c Chat) Fired(late time.Duration) {
	if c.metrics != nil {
		c.metrics.chat.timerLate.Observe(max(late.Seconds(), 0))
	}
}

// SetBreaker tells whether the circuit breaker of an agent is open.
func (c Chat) SetBreaker(agent string, open bool) {
	if c.metrics == nil {
		return
	}
	value := 0.0
	if open {
		value = 1
	}
	c.metrics.chat.breaker.WithLabelValues(label(agent)).Set(value)
}
