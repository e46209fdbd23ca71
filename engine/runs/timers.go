package runs

import (
	"container/heap"
	"time"
)

// alarm is something of a run that is due at a time.
type alarm struct {
	at    time.Time
	d     *driven
	step  int // −1: the run itself, its case waits no longer
	index int // in the heap; −1 = not in it
}

// alarms is a heap, the earliest first.
type alarms []*alarm

// set puts an alarm in; the returned one can be removed.
func (h *alarms) set(at time.Time, d *driven, step int) *alarm {
	a := &alarm{at: at, d: d, step: step}
	heap.Push(h, a)
	return a
}

// drop takes an alarm out; nil and one that has rung are fine.
func (h *alarms) drop(a *alarm) {
	if a != nil && a.index >= 0 {
		heap.Remove(h, a.index)
	}
}

// due takes the first alarm out that is due.
func (h *alarms) due(now time.Time) *alarm {
	if len(*h) == 0 || (*h)[0].at.After(now) {
		return nil
	}
	return heap.Pop(h).(*alarm)
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *alarms) Push(x any) {
	a := x.(*alarm)
	a.index = len(*h)
	*h = append(*h, a)
}

func (h *alarms) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	a.index = -1
	*h = old[:len(old)-1]
	return a
}
