package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestACallThatGivesUpBeforeItWasSentIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batch{running: senders} // all are busy
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sent, err := b.do(ctx, redis.NewStatusCmd(ctx, "ping"))
		if sent || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sent = %v, %v; want it taken back when its time was over", sent, err)
		}
		if len(b.waiting) != 0 {
			t.Errorf("%d calls still wait", len(b.waiting))
		}
	})
}

func TestACallThatGivesUpWhileItIsSentMayHaveHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batch{running: senders}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			synctest.Wait()
			b.take() // a sender has it now, and gets no answer
		}()
		sent, err := b.do(ctx, redis.NewStatusCmd(ctx, "ping"))
		if !sent || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sent = %v, %v; want that it may have been", sent, err)
		}
	})
}

func TestNothingIsSentAfterClose(t *testing.T) {
	b := &batch{}
	b.close()
	if sent, err := b.do(t.Context(), redis.NewStatusCmd(t.Context(), "ping")); sent || !errors.Is(err, redis.ErrClosed) {
		t.Errorf("sent = %v, %v; want it refused", sent, err)
	}
}

func TestAPipelineCarriesABoundedNumberOfCalls(t *testing.T) {
	b := &batch{running: 1, waiting: make([]*job, batchJobs+1)}
	for _, want := range []int{batchJobs, 1, 0} {
		if got := len(b.take()); got != want {
			t.Errorf("%d calls, want %d", got, want)
		}
	}
	if b.running != 0 {
		t.Errorf("%d senders, want none", b.running)
	}
}
