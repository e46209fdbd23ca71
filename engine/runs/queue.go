package runs

// slotQueue holds the steps that wait for a slot. Tenants take turns, and within a
// tenant its runs do: a run of one step does not wait behind one of a thousand.
type slotQueue struct {
	tenants []*tenantQueue // in turn
	byName  map[string]*tenantQueue
	steps   int
}

type tenantQueue struct {
	name string
	runs []*driven // in turn; each has a queue that is not empty
}

func (q *slotQueue) push(d *driven, step int) {
	t := q.byName[d.run.TenantID]
	if t == nil {
		t = &tenantQueue{name: d.run.TenantID}
		q.byName[t.name] = t
		q.tenants = append(q.tenants, t)
	}
	if len(d.queue) == 0 {
		t.runs = append(t.runs, d)
	}
	d.queue = append(d.queue, step)
	q.steps++
}

// pop returns the next step of a tenant for which room is true. A tenant without
// room keeps its turn.
func (q *slotQueue) pop(room func(tenant string) bool) (ref, bool) {
	for i := 0; i < len(q.tenants); {
		t := q.tenants[i]
		if len(t.runs) == 0 {
			q.tenants = append(q.tenants[:i], q.tenants[i+1:]...)
			delete(q.byName, t.name)
			continue
		}
		if !room(t.name) {
			i++
			continue
		}
		q.tenants = append(append(q.tenants[:i], q.tenants[i+1:]...), t)
		return q.popRun(t), true
	}
	return ref{}, false
}

func (q *slotQueue) popRun(t *tenantQueue) ref {
	d := t.runs[0]
	step := d.queue[0]
	d.queue = d.queue[1:]
	copy(t.runs, t.runs[1:])
	if last := len(t.runs) - 1; len(d.queue) > 0 {
		t.runs[last] = d
	} else {
		t.runs[last] = nil
		t.runs = t.runs[:last]
	}
	q.steps--
	return ref{d, step}
}

// remove forgets the steps of a run.
func (q *slotQueue) remove(d *driven) {
	if len(d.queue) == 0 {
		return
	}
	q.steps -= len(d.queue)
	d.queue = nil
	t := q.byName[d.run.TenantID]
	for i, other := range t.runs {
		if other == d {
			t.runs = append(t.runs[:i:i], t.runs[i+1:]...)
			return
		}
	}
}
