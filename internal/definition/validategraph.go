package definition

import "strings"

// checkGraph judges how the steps hang together.
func (v *validator) checkGraph() {
	v.checkStart()
	v.checkTargets()
	g := v.doc.graph()
	v.checkCycles(g)
	if v.doc.steps[v.doc.start] == nil {
		return // without a start nothing is reachable: one error says it
	}
	reachable := g.reachableFrom(v.doc.start)
	reachable[v.doc.start] = true
	waysLost := v.waysLost(reachable)
	for id, step := range v.doc.steps {
		if !reachable[id] && !waysLost {
			v.add("unreachable_step", step.at(), "no way from start_step leads to %s; lead a transition to it or remove it", quote(id))
		}
	}
	v.checkEnd(reachable, waysLost)
}

// waysLost reports whether a step that can be reached leads somewhere that
// could not be read, so that nobody can say what cannot be reached.
func (v *validator) waysLost(reachable map[string]bool) bool {
	for id, step := range v.doc.steps {
		if reachable[id] && step.waysLost {
			return true
		}
	}
	return false
}

func (v *validator) checkStart() {
	ids := sortedKeys(v.doc.steps)
	if len(ids) == 0 && !v.lost("/steps") {
		v.add("steps_missing", "/steps", "a workflow needs at least one step")
	}
	switch {
	case v.lost("/start_step", "/steps"), v.doc.steps[v.doc.start] != nil:
	case v.doc.start == "":
		v.add("start_step_missing", "/start_step", "name the step that a case begins with")
	default:
		v.add("start_step_unknown", "/start_step", "there is no step %s%s", quote(v.doc.start), suggestion(v.doc.start, ids))
	}
}

func (v *validator) checkTargets() {
	known := append(sortedKeys(v.doc.steps), Terminal)
	advice := func(target string) string {
		if near := suggestion(target, known); near != "" {
			return near
		}
		return "; name a step or TERMINAL"
	}
	for _, step := range v.doc.steps {
		for outcome, target := range step.transitions {
			at := step.at("transitions", outcome)
			switch {
			case target == Terminal || target == Join || v.doc.steps[target] != nil: // whether it may end so, checkBranches says
			default:
				v.add("target_unknown", at, "there is no step %s%s", quote(target), advice(target))
			}
		}
		for _, b := range step.branches {
			switch at := step.at("params", "branches", b.Name); {
			case v.doc.steps[b.Start] != nil:
			case b.Start == Terminal || b.Start == Join:
				v.add("branch_empty", at, "a branch begins with a step; name one, or remove the branch")
			default:
				v.add("target_unknown", at, "there is no step %s%s", quote(b.Start), suggestion(b.Start, sortedKeys(v.doc.steps)))
			}
		}
	}
}

func (v *validator) checkCycles(g *graph) {
	_, cycles := g.order()
	for _, cycle := range cycles {
		last := cycle[len(cycle)-1]
		way := []string{cycle[0].from}
		for _, e := range cycle {
			way = append(way, e.to)
		}
		v.add("cycle", last.at(), "this closes a circle (%s); a case may not come back to a step, use max_retries to repeat one", strings.Join(way, " → "))
	}
}

// checkEnd asks for a final step that can be reached and a way that succeeds. A
// step of a kind that is not known may be the final one. With lost ways only
// the absence of a final step is certain.
func (v *validator) checkEnd(reachable map[string]bool, waysLost bool) {
	finals, reached, terminal := 0, waysLost, waysLost
	for id, step := range v.doc.steps {
		contract := v.contract(step)
		if contract == nil || contract.Behaviour == BehaviourFinal {
			finals++
			reached = reached || reachable[id]
		}
		for _, target := range step.transitions {
			terminal = terminal || reachable[id] && target == Terminal
		}
	}
	switch {
	case finals == 0:
		v.add("final_missing", "/steps", "no step publishes the result; add one of kind emit_final that leads to TERMINAL")
	case !reached:
		v.add("final_unreachable", "/steps", "no way from start_step leads to a step of kind emit_final; lead one there")
	}
	if !terminal {
		v.add("terminal_unreachable", "/steps", "no way from start_step leads to TERMINAL, so no case could ever complete; lead one there")
	}
}
