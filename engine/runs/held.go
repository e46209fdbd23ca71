package runs

import "github.com/rondo-engine/rondo"

const (
	commitBytes = 16 << 20 // of results after which a turn gathers no more for its commit
	lookAtOnce  = 64       // keys that are looked up together
)

// full reports whether the runs in hand have so much in memory that no more are
// taken. They go on, and end: so there will be room.
func (s *Service) full() bool { return s.held.Load() >= s.cfg.MaxRunBytes }

// hold accounts what a run has in memory, n bytes more or less than before.
func (sh *shard) hold(d *driven, n int) {
	d.bytes += int64(n)
	sh.s.held.Add(int64(n))
}

// lighten forgets what nothing will read, and weighs the rest. It is done once the
// rows of a run are in memory.
func (d *driven) lighten() {
	d.readers = make([]int, len(d.steps))
	for i := range d.steps {
		if st := d.steps[i]; st != nil && st.phase == phaseDone {
			continue
		}
		for _, read := range d.w.Reads(i) {
			d.readers[read]++
		}
	}
	d.bytes = int64(len(d.run.TriggerPayload))
	for i, st := range d.steps {
		if st == nil || st.phase != phaseDone {
			continue
		}
		if d.readers[i] == 0 {
			st.out.Data = nil
		}
		d.bytes += int64(len(st.out.Data))
	}
	if d.base == nil {
		return
	}
	read := d.w.ReadsOfBase()
	steps := make(map[string]rondo.RunStep, len(d.base.steps))
	for id, row := range d.base.steps {
		if !read[id] {
			row.Data = nil
		}
		steps[id] = row
		d.bytes += int64(len(row.Data) + len(row.Manifest))
	}
	d.base = &baseRun{run: d.base.run, steps: steps, artifacts: d.base.artifacts}
	d.sources.Base = d.base.output
}

// doneReading forgets the input of a step that has ended, and the outputs that it was
// the last to read.
func (sh *shard) doneReading(d *driven, i int) {
	st := d.steps[i]
	if st.resolved {
		sh.hold(d, -len(st.input))
	}
	st.input = nil
	if st.phase == phaseDone && d.readers[i] > 0 {
		sh.hold(d, len(st.out.Data))
	} else {
		st.out.Data = nil
	}
	for _, read := range d.w.Reads(i) {
		if d.readers[read]--; d.readers[read] == 0 {
			if of := d.steps[read]; of != nil {
				sh.hold(d, -len(of.out.Data))
				of.out.Data = nil
			}
		}
	}
}

// putBack leaves inputs to the next turn: this one's commit is large enough.
func (sh *shard) putBack(in []input) {
	sh.mu.Lock()
	sh.inbox = append(append([]input(nil), in...), sh.inbox...)
	sh.mu.Unlock()
	sh.nudge()
}
