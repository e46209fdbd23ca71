package runs

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

func TestASmallRunAmongGiantsEndsEarly(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("giant", fan(50)...)
		h.define("small", node{id: "only"})
		h.craft.slow(time.Second)
		s := h.open()
		var giants []rondo.ID
		for i := range 20 {
			giants = append(giants, begin(t, s, "giant", i).ID)
		}
		time.Sleep(2500 * time.Millisecond)
		small := h.finish(begin(t, s, "small", 0).ID, rondo.RunCompleted)
		if took := small.CompletedAt.Sub(small.CreatedAt); took > 5*time.Second {
			t.Errorf("a run of one step took %s among 1,040 steps", took)
		}
		for _, id := range giants {
			h.whole(h.finish(id, rondo.RunCompleted))
		}
		if h.craft.atOnce() != 10 {
			t.Errorf("%d steps were at work at once, not 10", h.craft.atOnce())
		}
	})
}

func TestTenantsTakeTurnsAndHaveABound(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("giant", fan(60)...)
		h.define("row", chain(10)...)
		h.craft.slow(time.Second)
		s := h.open(func(c *Config) { c.Slots, c.TenantSlots = 4, 3 })
		for i := range 4 {
			begin(t, s, "giant", i)
		}
		time.Sleep(3 * time.Second)
		if h.craft.atOnce() != 3 {
			t.Errorf("one tenant has %d of 4 slots, its bound is 3", h.craft.atOnce())
		}
		eve := rondo.Principal{Tenant: "other"}
		run, err := s.Trigger(t.Context(), eve, Request{WorkflowName: "row", TriggerPayload: payload(1)})
		if err != nil {
			t.Fatal(err)
		}
		ended := h.finishOf(eve.Tenant, run.ID, rondo.RunCompleted)
		if took := ended.CompletedAt.Sub(ended.CreatedAt); took > 12*time.Second {
			t.Errorf("ten steps in a row of one tenant took %s while another had 240 steps", took)
		}
	})
}

func TestRunsBeyondTheBoundWaitInTheStore(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("one", node{id: "only"})
		h.craft.slow(time.Second)
		s := h.open(func(c *Config) { c.MaxRuns, c.TenantRuns = 2, 2 })
		var ids []rondo.ID
		for i := range 7 {
			run := begin(t, s, "one", i)
			ids = append(ids, run.ID)
			if want := []rondo.RunStatus{rondo.RunRunning, rondo.RunQueued}[min(i/2, 1)]; run.Status != want {
				t.Errorf("run %d is %s, not %s", i, run.Status, want)
			}
		}
		cancelled, err := s.Cancel(t.Context(), bob, ids[6])
		if err != nil || cancelled.Status.Ended() && cancelled.Status != rondo.RunCancelled {
			t.Errorf("cancelling a queued run: %v, %v", cancelled, err)
		}
		for _, id := range ids[:6] {
			h.whole(h.finish(id, rondo.RunCompleted))
		}
		h.finish(ids[6], rondo.RunCancelled)
	})
}

func TestEqualRunsComputeEachKeyOnce(t *testing.T) {
	t.Parallel()
	for _, services := range []int{1, 2} {
		for _, shards := range []int{1, 3} {
			t.Run(fmt.Sprintf("%d services of %d shards", services, shards), func(t *testing.T) {
				t.Parallel()
				inHouses(t, func(t *testing.T, h *house) {
					h.define("net", node{id: "a"}, node{id: "b", needs: []string{"a"}}, node{id: "c", needs: []string{"a"}}, node{id: "d", needs: []string{"b", "c"}})
					h.craft.slow(time.Second)
					var all []*Service
					for range services {
						all = append(all, h.open(func(c *Config) { c.Shards = shards }))
					}
					var ids []rondo.ID
					for i := range 100 {
						ids = append(ids, begin(t, all[i%services], "net", 1).ID)
					}
					inflight := 0
					for _, id := range ids {
						run := h.finish(id, rondo.RunCompleted)
						h.whole(run)
						for _, row := range h.steps(id) {
							if row.Reason.Code == rondo.ReasonInflight {
								inflight++
							}
						}
						if took := run.CompletedAt.Sub(run.CreatedAt); took > 6*time.Second {
							t.Errorf("a run took %s: three steps in a row take 3s", took)
						}
					}
					h.craft.onlyOnce(t)
					if inflight < 99 {
						t.Errorf("%d steps took what was in flight", inflight)
					}
				})
			})
		}
	}
}
