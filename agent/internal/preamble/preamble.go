// Package preamble reads back what Rondo writes above a user's text, for agents
// without a memory: where the workflow stands and what was collected. A query in a
// template of someone's own is all text to it.
//
// It imports the standard library only.
package preamble

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Context is what stood above the text.
type Context struct {
	Found bool
	Step  string
	Turn  int // turns before this one; -1 = not said
	// Data is what was collected. When the query had no room for values they are
	// null.
	Data map[string]json.RawMessage
}

// Split takes a query apart into its context and the user's own text.
func Split(query string) (context Context, text string) {
	for _, form := range []struct{ name, step, data string }{
		{"CONTEXT", "Phase: ", "Collected data: "},
		{"WORKFLOW_CONTEXT", "step: ", "data: "},
	} {
		inside, found := strings.CutPrefix(query, "["+form.name+"]\n")
		if !found {
			continue
		}
		block, text, found := strings.Cut(inside, "\n[/"+form.name+"]\n\n")
		if !found {
			continue
		}
		return read(block, form.step, form.data), text
	}
	return Context{Turn: -1}, query
}

func read(block, step, data string) Context {
	context := Context{Found: true, Turn: -1}
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if value, found := strings.CutPrefix(line, step); found {
			context.Step = value
		} else if value, found := strings.CutPrefix(line, data); found {
			context.Data = collected(value)
		} else if value, found := strings.CutPrefix(line, "Turn number: "); found {
			if turn, err := strconv.Atoi(value); err == nil {
				context.Turn = turn
			}
		}
	}
	return context
}

// collected reads an object, or the keys alone that are left of one that was too
// long.
func collected(value string) map[string]json.RawMessage {
	var data map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &data) == nil {
		return data
	}
	var keys []string
	if json.Unmarshal([]byte(value), &keys) != nil {
		return nil
	}
	data = make(map[string]json.RawMessage, len(keys))
	for _, key := range keys {
		data[key] = json.RawMessage("null")
	}
	return data
}
