package plan

import "slices"

// Reads are the steps whose output the input of a step, or the event that it raises,
// selects. Its own output, which an event may have, is not among them.
func (w *Workflow) Reads(step int) []int {
	def := &w.Steps[step]
	if def.Raise == nil {
		return def.reads
	}
	reads := slices.Clone(def.reads)
	def.Raise.each(func(s *selector) {
		if s.word == "step" && s.step != step && !slices.Contains(reads, s.step) {
			reads = append(reads, s.step)
		}
	})
	return reads
}

// ReadsOfBase are the steps of the base run that selectors of the workflow lead into.
func (w *Workflow) ReadsOfBase() map[string]bool {
	read := map[string]bool{}
	note := func(s *selector) {
		if s.word == "base" {
			read[s.id] = true
		}
	}
	for i := range w.Steps {
		for k := range w.Steps[i].input {
			w.Steps[i].input[k].selector.each(note)
		}
		if w.Steps[i].Raise != nil {
			w.Steps[i].Raise.each(note)
		}
	}
	return read
}

// each visits the selectors of a raise.
func (r *Raise) each(visit func(*selector)) {
	r.caseID.each(visit)
	if r.hasPayload {
		r.payload.each(visit)
	}
}

// each visits a selector and those in it.
func (c *selector) each(visit func(*selector)) {
	visit(c)
	for i := range c.parts {
		c.parts[i].each(visit)
	}
}
