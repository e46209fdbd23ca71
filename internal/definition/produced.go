package definition

import "maps"

// knowledge is which steps have left an output when a step begins.
type knowledge struct {
	maybe  map[string]bool // on some way
	always map[string]bool // on every way
}

func (k *knowledge) clone() *knowledge {
	return &knowledge{maybe: maps.Clone(k.maybe), always: maps.Clone(k.always)}
}

// with adds outputs that are surely there.
func (k *knowledge) with(ids ...string) *knowledge {
	more := k.clone()
	for _, id := range ids {
		more.maybe[id], more.always[id] = true, true
	}
	return more
}

// meet is what is known where another way leads to a step; a is nil when it is
// the first.
func meet(a, b *knowledge) *knowledge {
	if a == nil {
		return b.clone()
	}
	met := a.clone()
	maps.Copy(met.maybe, b.maybe)
	maps.DeleteFunc(met.always, func(id string, _ bool) bool { return !b.always[id] })
	return met
}

// produced computes, for every step that can be reached, what is known before
// it; order is topological. A step leaves an output on all its outcomes but
// failure and timeout.
func (d *document) produced(order []string) map[string]*knowledge {
	w := producing{d: d, order: order, before: map[string]*knowledge{}, within: map[string]map[string]string{}}
	for id, step := range d.steps {
		w.within[id] = map[string]string{}
		for ; step != nil && step.fork != ""; step = d.steps[step.fork] {
			w.within[id][step.fork] = step.branch
		}
	}
	w.region(place{}, d.start, &knowledge{maybe: map[string]bool{}, always: map[string]bool{}})
	w.besides()
	return w.before
}

// producing walks a definition region by region: what is outside of all
// branches, and each branch by itself.
type producing struct {
	d      *document
	order  []string
	before map[string]*knowledge
	within map[string]map[string]string // step → parallel step around it, however far → in which branch
}

// region walks the steps of one place from where it begins and returns what is
// known at its JOINs; nil when it never joins. Ways that leave the region by
// mistake are not followed.
func (w *producing) region(here place, start string, known *knowledge) (joined *knowledge) {
	if step := w.d.steps[start]; step == nil || step.place() != here {
		return nil
	}
	w.before[start] = known
	for _, id := range w.order {
		step, known := w.d.steps[id], w.before[id]
		if known == nil || step.place() != here {
			continue
		}
		completed, failed := known, known
		if len(step.branches) > 0 {
			completed, failed = w.parallel(step, known)
		}
		if step.producesOutput() {
			completed = completed.with(id)
		}
		for outcome, target := range step.transitions {
			after := completed
			if outcome == OnFailure || outcome == OnTimeout {
				after = failed
			}
			if next := w.d.steps[target]; target == Join {
				joined = meet(joined, after)
			} else if next != nil && next.place() == here {
				w.before[target] = meet(w.before[target], after)
			}
		}
	}
	return joined
}

// parallel walks the branches of a step and returns what is known when enough
// have joined, and when its time ran out before. Only where every branch must
// join are their outputs surely there.
func (w *producing) parallel(step *writtenStep, known *knowledge) (completed, failed *knowledge) {
	completed = known.clone()
	for _, b := range step.branches {
		joined := w.region(place{step.id, b.Name}, b.Start, known.clone())
		if joined != nil && step.need() == len(step.branches) {
			maps.Copy(completed.always, joined.always)
		}
	}
	failed = known.clone()
	for _, inside := range w.d.steps {
		if _, within := w.within[inside.id][step.id]; within && inside.producesOutput() {
			completed.maybe[inside.id], failed.maybe[inside.id] = true, true
		}
	}
	return completed, failed
}

// besides adds what the branches beside a step may have left: they run in any
// order.
func (w *producing) besides() {
	for id, known := range w.before {
		for fork, mine := range w.within[id] {
			for other, step := range w.d.steps {
				if branch, within := w.within[other][fork]; within && branch != mine && step.producesOutput() {
					known.maybe[other] = true
				}
			}
		}
	}
}

func (w *writtenStep) producesOutput() bool {
	if w.contract == nil {
		return true
	}
	switch w.contract.Behaviour {
	case BehaviourEmit, BehaviourFinal, BehaviourHalt:
		return false
	}
	return true
}
