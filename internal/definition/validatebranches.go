package definition

// checkBranches judges how branches hang together with the rest: a branch is
// entered at its start, left by JOIN, shares no step and completes no case.
// Nothing is said of what only looks like a branch: its kind is not known, and
// that is reported.
func (v *validator) checkBranches() {
	for _, step := range v.doc.steps {
		if !v.certain(step) {
			continue
		}
		if step.contract != nil && step.contract.Behaviour == BehaviourFinal && step.fork != "" {
			v.add("final_in_branch", step.at(), "a step of kind %s completes the case and cannot stand in a branch (%s of %s); move it behind the join", step.kind, quote(step.branch), quote(step.fork))
		}
		for outcome, target := range step.transitions {
			v.checkEndOfBranch(step, outcome, target)
			if next := v.doc.steps[target]; next != nil && next.place() != step.place() && v.certain(next) {
				v.addShared(step.at("transitions", outcome), next, step.place())
			}
		}
		for _, b := range step.branches {
			if step.contract == nil {
				break
			}
			begins := place{step.id, b.Name}
			if next := v.doc.steps[b.Start]; next != nil && next.place() != begins && v.certain(next) {
				v.addShared(step.at("params", "branches", b.Name), next, begins)
			}
		}
	}
}

// certain reports whether it is known in which branch a step is.
func (v *validator) certain(step *writtenStep) bool {
	return step.fork == "" || v.doc.steps[step.fork].contract != nil
}

// checkEndOfBranch judges a way that leads to a reserved target.
func (v *validator) checkEndOfBranch(step *writtenStep, outcome, target string) {
	at := step.at("transitions", outcome)
	switch {
	case target == Join && step.fork == "":
		v.add("join_outside_branch", at, "JOIN ends a branch of a parallel step, and this step is in none; lead to a step or to TERMINAL")
	case target == Terminal && step.fork != "" && (step.contract == nil || step.contract.Behaviour != BehaviourFinal):
		v.add("terminal_in_branch", at, "a branch cannot complete the case; lead to JOIN, which ends the branch %s of %s", quote(step.branch), quote(step.fork))
	}
}

// addShared says that a way of one place leads to a step of another.
func (v *validator) addShared(at string, next *writtenStep, from place) {
	const advice = "; branches share no step with anything else: end the branch with JOIN, or give it a step of its own"
	switch {
	case next.fork == "":
		v.add("branch_shared", at, "%s is outside of the branch %s of %s"+advice, quote(next.id), quote(from.branch), quote(from.fork))
	case from.fork == "":
		v.add("branch_shared", at, "%s is in the branch %s of %s"+advice, quote(next.id), quote(next.branch), quote(next.fork))
	default:
		v.add("branch_shared", at, "%s is in the branch %s of %s, not in %s of %s"+advice, quote(next.id), quote(next.branch), quote(next.fork), quote(from.branch), quote(from.fork))
	}
}

// checkJoin asks that the join can be met: enough branches have a way to JOIN.
func (v *validator) checkJoin(step *writtenStep, compiled *Step) {
	if len(compiled.Branches) == 1 {
		v.warn("single_branch", step.at("params", "branches"), "one branch runs beside nothing; add another, or lead to its steps directly")
	}
	joining := map[string]bool{}
	for _, inside := range v.doc.steps {
		if inside.fork != step.id {
			continue
		}
		if inside.waysLost {
			return
		}
		for _, target := range inside.transitions {
			next := v.doc.steps[target]
			switch {
			case target == Join:
				joining[inside.branch] = true
			case next == nil || next.place() != inside.place():
				return // it was to end elsewhere, and that is reported
			}
		}
	}
	for _, b := range compiled.Branches {
		if start := v.doc.steps[b.Start]; start == nil || start.place() != (place{step.id, b.Name}) {
			return
		}
	}
	if compiled.Need > 0 && compiled.Need <= len(compiled.Branches) && len(joining) < compiled.Need {
		v.add("join_impossible", step.at("params"), "%d of the branches must join and only %d can: lead a way of each to JOIN, or ask for fewer", compiled.Need, len(joining))
	}
}

// checkDelay holds a delay to the time of the whole workflow.
func (v *validator) checkDelay(step *writtenStep, compiled *Step) {
	if compiled.Delay > v.doc.timeout && !v.lost("/workflow_timeout_seconds") {
		v.add("timeout_exceeds_workflow", step.at("params", "seconds"), "the delay takes %s s but the whole workflow only %.0f s; shorten it or raise workflow_timeout_seconds", seconds(compiled.Delay.Seconds()), v.doc.timeout.Seconds())
	}
}
