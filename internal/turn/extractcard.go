package turn

import "encoding/json"

// maxCardDepth bounds how far inside a card its actions are looked for.
const maxCardDepth = 32

// fromCard takes the data that a card carries: its own, else that of its first
// action that sends something. Either must look like structured output.
func fromCard(content json.RawMessage) (map[string]json.RawMessage, string) {
	card, ok := object(content)
	if !ok {
		return nil, absent
	}
	own, hasOwn := object(card["data"])
	if hasOwn && looksStructured(own) {
		return own, ""
	}
	if !hasOwn {
		if sent, found := firstSubmit(content, 0); found {
			if looksStructured(sent) {
				return sent, ""
			}
			return nil, "the data of its first action has none of action, prompt, data, confidence and citations"
		}
		return nil, absent
	}
	return nil, "its data has none of action, prompt, data, confidence and citations"
}

// looksStructured reports whether an object has a member of structured output.
func looksStructured(members map[string]json.RawMessage) bool {
	for _, name := range []string{"action", "prompt", "data", "confidence", "citations"} {
		if _, has := members[name]; has {
			return true
		}
	}
	return false
}

// firstSubmit finds the data of the first Action.Submit or Action.Execute: in the
// card's own actions first, then inside what the card shows, in written order. An
// action without data has none, and no later one counts.
func firstSubmit(raw json.RawMessage, depth int) (map[string]json.RawMessage, bool) {
	if depth > maxCardDepth {
		return nil, false
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil {
		for _, each := range several {
			if data, found := firstSubmit(each, depth+1); found {
				return data, true
			}
		}
		return nil, false
	}
	element, ok := object(raw)
	if !ok {
		return nil, false
	}
	if kind, _ := text(element["type"]); kind == "Action.Submit" || kind == "Action.Execute" {
		data, _ := object(element["data"])
		return data, true
	}
	for _, inside := range []string{"actions", "body", "items", "columns", "rows", "cells", "selectAction", "inlineAction", "card"} {
		if data, found := firstSubmit(element[inside], depth+1); found {
			return data, true
		}
	}
	return nil, false
}
