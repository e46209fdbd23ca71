package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestARunThatStandsStillSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		told := func(step string, status rondo.RunStepStatus) {
			if err := p.tell(client.RunEvent{Step: &client.RunStep{StepID: step, Status: status}}); err != nil {
				t.Fatal(err)
			}
		}
		told("a", rondo.RunStepRunning)
		go p.tellWaiting(ctx)
		said := func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return strings.Count(out.String(), "Nothing is at work")
		}
		time.Sleep(time.Minute)
		if said() != 0 {
			t.Error("it is said of a run that works")
		}
		told("a", rondo.RunStepCompleted)
		time.Sleep(time.Minute)
		if n := said(); n != 1 {
			t.Errorf("it is said %d times", n)
		}
	})
}
