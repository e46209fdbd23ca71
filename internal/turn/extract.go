package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// extract finds the structured data of one activity: value, entities, text, cards;
// the first that has some wins. It also says which message shows it; -1 = no
// particular one.
func (s *search) extract(number int, a rondo.Activity, role string, cards []placedCard) (*rondo.ExtractedPayload, int) {
	type place struct {
		name, source, confidence string
		message                  int
		find                     func() (map[string]json.RawMessage, string)
	}
	places := []place{
		{"value", rondo.SourceValue, rondo.ConfidenceHigh, -1, func() (map[string]json.RawMessage, string) { return fromValue(a.Value) }},
		{"entities", rondo.SourceEntities, rondo.ConfidenceMedium, -1, func() (map[string]json.RawMessage, string) { return fromEntities(a.Entities) }},
		{"text", rondo.SourceText, rondo.ConfidenceLow, -1, func() (map[string]json.RawMessage, string) { return fromText(a.Text, role) }},
	}
	for i, card := range cards {
		places = append(places, place{
			fmt.Sprintf("card %d", i), rondo.SourceValue, rondo.ConfidenceLow, card.message,
			func() (map[string]json.RawMessage, string) { return fromCard(card.content) },
		})
	}
	var found *rondo.ExtractedPayload
	at := -1
	for _, p := range places {
		data, why := p.find()
		if data != nil && !holdable(data) {
			data, why = nil, "it is nested too deeply, or has a number that cannot be held"
		}
		switch {
		case why == absent:
			continue
		case why != "":
		case found != nil:
			why = "another place of the same activity comes first"
		case role != rondo.RoleAssistant:
			why = "it is not the assistant's"
		case s.reply.Payload != nil:
			why = "an earlier activity has structured data"
		}
		s.note(number, p.name, why)
		if data != nil && found == nil {
			found, at = &rondo.ExtractedPayload{Source: p.source, Confidence: p.confidence, Data: data}, p.message
		}
	}
	return found, at
}

// maxPayloadDepth bounds how deeply structured data is nested.
const maxPayloadDepth = 64

// holdable reports whether guards can look at everything in an object.
func holdable(members map[string]json.RawMessage) bool {
	for _, raw := range members {
		var value any
		if json.Unmarshal(raw, &value) != nil || deeper(value, maxPayloadDepth) {
			return false
		}
	}
	return true
}

// deeper reports whether a value is nested more than so many levels.
func deeper(value any, levels int) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, inside := range value {
			if levels == 0 || deeper(inside, levels-1) {
				return true
			}
		}
	case []any:
		for _, inside := range value {
			if levels == 0 || deeper(inside, levels-1) {
				return true
			}
		}
	}
	return false
}

// absent is the reason that is not worth a word: there was nothing to look at.
const absent = "absent"

// fromValue takes an object with at least one member.
func fromValue(raw json.RawMessage) (map[string]json.RawMessage, string) {
	if isNull(raw) {
		return nil, absent
	}
	members, ok := object(raw)
	switch {
	case !ok:
		return nil, "it is not an object"
	case len(members) == 0:
		return nil, "the object is empty"
	}
	return members, ""
}

// fromEntities merges what entities say, from left to right, without their types.
func fromEntities(entities []json.RawMessage) (map[string]json.RawMessage, string) {
	if len(entities) == 0 {
		return nil, absent
	}
	merged := map[string]json.RawMessage{}
	for _, raw := range entities {
		entity, ok := object(raw)
		if !ok || isChannelEntity(entity) {
			continue
		}
		for name, value := range entity {
			if name != "type" {
				merged[name] = value
			}
		}
	}
	if len(merged) == 0 {
		return nil, "none of them has data of the workflow"
	}
	return merged, ""
}

// isChannelEntity tells entities that are about the channel or the text itself.
func isChannelEntity(entity map[string]json.RawMessage) bool {
	kind, _ := text(entity["type"])
	return slices.ContainsFunc([]string{"streaminfo", "mention", "clientInfo", "ProductInfo"}, func(known string) bool {
		return strings.EqualFold(kind, known)
	}) || isSchemaOrg(kind) || isAboutSchemaOrg(entity["@context"])
}

// isAboutSchemaOrg reads the context of linked data: a name, or a list that may
// have other things beside names.
func isAboutSchemaOrg(context json.RawMessage) bool {
	return slices.ContainsFunc(items(context), func(one json.RawMessage) bool {
		name, _ := text(one)
		return isSchemaOrg(name)
	})
}

func isSchemaOrg(name string) bool {
	name = strings.ToLower(name)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	name = strings.TrimPrefix(name, "www.")
	return name == "schema.org" || strings.HasPrefix(name, "schema.org/")
}

// citations notes the addresses that an assistant's text refers to, each once.
func (s *search) citations(a rondo.Activity) {
	for _, raw := range a.Entities {
		entity, ok := object(raw)
		if !ok || !isChannelEntity(entity) {
			continue
		}
		for _, citation := range items(entity["citation"]) {
			cited, _ := object(citation)
			appearance, _ := object(cited["appearance"])
			if url, _ := text(appearance["url"]); url != "" && !slices.Contains(s.reply.Citations, url) {
				s.reply.Citations = append(s.reply.Citations, url)
			}
		}
	}
}

// fromText takes the first fenced block that is an object, else what stands
// between the first { and the last }.
func fromText(said, role string) (map[string]json.RawMessage, string) {
	if said == "" || !strings.Contains(said, "{") {
		return nil, absent
	}
	if role != rondo.RoleAssistant {
		return nil, "it is not the assistant's"
	}
	for block := range fencedBlocks(said) {
		if members, ok := object(json.RawMessage(block)); ok && len(members) > 0 {
			return members, ""
		}
	}
	from, to := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if to < from {
		return nil, "it has no JSON object"
	}
	members, ok := object(json.RawMessage(said[from : to+1]))
	switch {
	case !ok:
		return nil, "what stands between its first { and its last } is not a JSON object"
	case len(members) == 0:
		return nil, "the object is empty"
	}
	return members, ""
}

// fencedBlocks yields the bodies of blocks between ``` and ```, without the word
// for their language. A fence of more backticks is closed by as many.
func fencedBlocks(said string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			start := strings.Index(said, "```")
			if start < 0 {
				return
			}
			body := strings.TrimLeft(said[start:], "`")
			fence := said[start : len(said)-len(body)]
			end := strings.Index(body, fence)
			if end < 0 {
				return
			}
			if !yield(withoutLanguage(body[:end])) {
				return
			}
			said = strings.TrimLeft(body[end:], "`")
		}
	}
}

// withoutLanguage drops the word that stands right behind the opening fence.
func withoutLanguage(block string) string {
	word := strings.IndexFunc(block, func(r rune) bool {
		return r == '{' || r == '[' || r == '"' || r == ' ' || r == '\t' || r == '\r' || r == '\n'
	})
	if word < 0 {
		return block
	}
	return block[word:]
}
