package turn

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/chart"
)

// Check looks for what is allowed but hardly meant: states that are never reached,
// events that no rule gives or no state hears, conditions on fields that nobody
// fills, values that are forgotten, steps that no state is. Its findings are
// warnings, with places in the body.
func (d *Definition) Check() []rondo.FieldError {
	known := chart.Known{
		Events:  []string{EventHandoff, EventNoSignal},
		Fields:  d.fields(),
		Context: []string{contextStep, contextData, contextTurns, contextRecommendation},
		Roots:   map[string][]string{"turn": {"kind", "data", "nextAction", "nextPrompt", "displayMessages", "confidence", "citations", "parseErrors"}},
	}
	for _, s := range d.signals {
		known.Events = append(known.Events, s.event)
	}
	var found []rondo.FieldError
	for _, warning := range d.machine.Check(known) {
		warning.Pointer = "/machine" + warning.Pointer
		found = append(found, warning)
	}
	for i, s := range d.signals {
		at := pointer("signals", strconv.Itoa(i))
		found = append(found, d.machine.CheckPaths(known, s.when.Paths(), at+"/when")...)
		if !d.states.hears(s.event) {
			found = append(found, rondo.FieldError{
				Code: "event_never_heard", Pointer: at + "/event",
				Message: "no state waits for this event: correct the name, or add a transition for it",
			})
		}
	}
	found = append(found, forgotten(d.config, "/machine")...)
	return append(found, d.stepsNeverReached()...)
}

// forgotten finds assigns to members of the context that are written anew before
// every event.
func forgotten(raw json.RawMessage, at string) []rondo.FieldError {
	var found []rondo.FieldError
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil {
		for i, each := range several {
			found = append(found, forgotten(each, at+pointer(strconv.Itoa(i)))...)
		}
		return found
	}
	written, _ := object(raw)
	if kind, _ := text(written["type"]); kind == "assign" {
		set, _ := object(written["set"])
		for _, name := range []string{contextStep, contextTurns, contextRecommendation} {
			if _, writes := set[name]; writes {
				found = append(found, rondo.FieldError{
					Code: "assign_forgotten", Pointer: at + pointer("set", name),
					Message: "this member of the context is the workflow's own, and what is assigned to it is forgotten with the turn: use another name",
				})
			}
		}
		return found
	}
	for _, name := range keys(written) {
		found = append(found, forgotten(written[name], at+pointer(name))...)
	}
	return found
}

// stepsNeverReached names steps that no state gives: progress would skip them.
func (d *Definition) stepsNeverReached() []rondo.FieldError {
	var given []string
	d.states.all(func(s *state) bool {
		given = append(given, s.key, s.step)
		return true
	})
	var found []rondo.FieldError
	for i, step := range d.Steps {
		if !slices.Contains(given, step) {
			found = append(found, rondo.FieldError{
				Code: "step_never_reached", Pointer: pointer("steps", strconv.Itoa(i)),
				Message: "no state of the machine is this step: name a state so, or give one meta.step",
			})
		}
	}
	return found
}

// fields are those that can be collected: what outputSchema says of data, what has
// a merge policy, and what the machine itself writes. nil = anything can.
func (d *Definition) fields() []string {
	var schema struct {
		Properties struct {
			Data struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"data"`
		} `json:"properties"`
	}
	if json.Unmarshal(d.OutputSchema, &schema) != nil || schema.Properties.Data.Properties == nil {
		return nil
	}
	fields := append(keys(schema.Properties.Data.Properties), keys(d.merge.fields)...)
	own, _ := object(d.context[contextData])
	fields = append(fields, keys(own)...)
	written, known := assigned(d.config)
	if !known {
		return nil
	}
	fields = append(fields, written...)
	slices.Sort(fields)
	return slices.Compact(fields)
}

// assigned finds the fields that assign actions write into collectedData, wherever
// they stand in a machine. It is false when one writes what cannot be told.
func assigned(raw json.RawMessage) (fields []string, known bool) {
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil {
		for _, each := range several {
			more, ok := assigned(each)
			if !ok {
				return nil, false
			}
			fields = append(fields, more...)
		}
		return fields, true
	}
	members, ok := object(raw)
	if !ok {
		return nil, true
	}
	if kind, _ := text(members["type"]); kind == "assign" {
		set, _ := object(members["set"])
		if selector, writes := set[contextData]; writes {
			return selected(selector)
		}
		return nil, true
	}
	for _, name := range keys(members) {
		more, ok := assigned(members[name])
		if !ok {
			return nil, false
		}
		fields = append(fields, more...)
	}
	return fields, true
}

// selected are the members that a selector's value has beyond those that agents
// fill.
func selected(selector json.RawMessage) (fields []string, known bool) {
	members, ok := object(selector)
	if !ok {
		return nil, false
	}
	if len(members) != 1 {
		return keys(members), true // a constant
	}
	for name, inside := range members {
		switch name {
		case "path":
			path, _ := text(inside)
			return nil, path == "context."+contextData || path == "event.payload"
		case "const":
			constant, ok := object(inside)
			return keys(constant), ok
		case "merge":
			var parts []json.RawMessage
			if json.Unmarshal(inside, &parts) != nil {
				return nil, false
			}
			for _, part := range parts {
				more, ok := selected(part)
				if !ok {
					return nil, false
				}
				fields = append(fields, more...)
			}
			return fields, true
		case "pick":
			var pick struct {
				Fields []string `json:"fields"`
			}
			if json.Unmarshal(inside, &pick) != nil {
				return nil, false
			}
			return pick.Fields, true
		case "json":
			return nil, false
		}
	}
	return keys(members), true
}
