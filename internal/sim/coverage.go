package sim

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Coverage counts schedules in which a situation was reached at least once, so
// that a simulation cannot pass by doing nothing.
type Coverage struct {
	Completed        int `sim:"a case completed"`
	Retried          int `sim:"a step was retried"`
	Halted           int `sim:"a case halted"`
	Deadline         int `sim:"a deadline struck"`
	TimedOut         int `sim:"a step timed out"`
	TimeoutRace      int `sim:"an outcome came after its step had timed out"`
	Late             int `sim:"an outcome came late and was stale"`
	Parked           int `sim:"an outcome was parked while halted"`
	Resumed          int `sim:"a case was resumed"`
	Cancelled        int `sim:"a case was cancelled"`
	Repeated         int `sim:"an event came twice"`
	Resent           int `sim:"a request was sent again"`
	Crashed          int `sim:"a replica crashed"`
	CrashedCommitAck int `sim:"a replica crashed between commit and ack"`
	CrashedPublish   int `sim:"a replica crashed between commit and publish"`
	Ambiguous        int `sim:"a commit happened and was reported as failed"`
	CommitFailed     int `sim:"a commit failed"`
	PublishFailed    int `sim:"a publish failed"`
	Swept            int `sim:"the outbox sweeper sent what a crash left behind"`
	BusLost          int `sim:"the bus lost what was on its way"`
	TwoReplicas      int `sim:"two replicas worked on one case"`
	Violation        int `sim:"a step broke its output contract"`
}

// add counts the situations of one schedule.
func (c *Coverage) add(one Coverage) {
	total, single := reflect.ValueOf(c).Elem(), reflect.ValueOf(one)
	for i := range total.NumField() {
		if f := total.Field(i); f.CanSet() && single.Field(i).Int() > 0 {
			f.SetInt(f.Int() + 1)
		}
	}
}

// Print writes one line per situation with the share of schedules that reached
// it.
func (r Report) Print(w io.Writer) {
	v := reflect.ValueOf(r.Reached)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		n := v.Field(i).Int()
		_, _ = fmt.Fprintf(w, "  %5.1f %%  %9d  %s\n", 100*float64(n)/float64(max(r.Schedules, 1)), n, field.Tag.Get("sim"))
	}
	for _, f := range r.Failures {
		_, _ = fmt.Fprintf(w, "  seed %d:\n", f.Seed)
		for _, violation := range f.Violations {
			_, _ = fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(violation.String(), "\n", " "))
		}
	}
}
