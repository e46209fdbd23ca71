package sim

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/rondo-engine/rondo"
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
	Held             int `sim:"a stream was full and its events waited"`
	BusLost          int `sim:"the bus lost what was on its way"`
	TwoReplicas      int `sim:"two replicas worked on one case"`
	Violation        int `sim:"a step broke its output contract"`
	Joined           int `sim:"branches side by side joined"`
	HaltedInFork     int `sim:"a case halted while branches were in flight"`
	Delayed          int `sim:"a delay was over"`
	Heard            int `sim:"an awaited event came"`
	ByHand           int `sim:"a person completed a step"`
	RetriedByHand    int `sim:"a person retried a step"`
	SkippedByHand    int `sim:"a person skipped a step"`
	ModeSet          int `sim:"a person changed the mode"`
	ClientDriven     int `sim:"a client moved a case"`
	Superseded       int `sim:"a case was superseded"`
	Migrated         int `sim:"a case was migrated"`
	TimerLost        int `sim:"the timers of a case were lost"`
	Healed           int `sim:"lost timers were armed again"`
}

// acted counts an intervention.
func (c *Coverage) acted(action rondo.ActionName) {
	switch action {
	case rondo.ActionRetryStep:
		c.RetriedByHand++
	case rondo.ActionSkipStep:
		c.SkippedByHand++
	case rondo.ActionSetMode:
		c.ModeSet++
	case rondo.ActionSupersede:
		c.Superseded++
	case rondo.ActionMigrate:
		c.Migrated++
	default:
	}
}

// waited counts a step that was waited for in a way of its own.
func (c *Coverage) waited(kind string) {
	switch kind {
	case "parallel":
		c.Joined++
	case "delay":
		c.Delayed++
	case "wait_for_event":
		c.Heard++
	case "manual":
		c.ByHand++
	}
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
