package turn

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/rondo-engine/rondo"
)

// The words of a context template that are filled in.
const (
	placeStep = "{step}"
	placeData = "{dataJson}"
	placeTurn = "{turnCount}"
	placeUser = "{userMessage}"
)

// defaultTemplate is the preamble that agents get to read.
const defaultTemplate = "[CONTEXT]\nPhase: " + placeStep + "\nCollected data: " + placeData +
	"\nTurn number: " + placeTurn + "\n[/CONTEXT]\n\n" + placeUser

// maxPreamble bounds what stands around the user's text, in UTF-16 units.
const maxPreamble = 2000

// How the collected data was shortened to make the preamble fit.
const (
	TruncatedKeys    = "keys"    // the names of the fields alone, as a JSON array
	TruncatedOmitted = "omitted" // not even those: the JSON text "omitted"
)

// dataOmitted stands where not even the names of the fields fit.
const dataOmitted = `"omitted"`

// Query writes what the agent is sent for a user's text: where the workflow
// stands, then the text, which is never cut. truncation says whether the data was
// shortened to fit: "", TruncatedKeys or TruncatedOmitted.
func (d *Definition) Query(before rondo.ConversationState, userText string) (query, truncation string) {
	template := d.template
	if template == "" {
		template = defaultTemplate
	}
	fill := func(data, user string) string {
		return substitute(template, map[string]string{
			placeStep: before.Step, placeData: data, placeTurn: strconv.Itoa(before.TurnCount), placeUser: user,
		})
	}
	data, truncation := shrink(before.CollectedData, func(data string) bool { return units(fill(data, "")) <= maxPreamble })
	return fill(data, userText), truncation
}

// shrink writes data in the longest form that fits, and says which.
func shrink(data map[string]json.RawMessage, fits func(string) bool) (written, truncation string) {
	if whole := dataJSON(data); fits(whole) {
		return whole, ""
	}
	if names := keysJSON(data); fits(names) {
		return names, TruncatedKeys
	}
	return dataOmitted, TruncatedOmitted
}

// substitute fills a template in one literal pass: what is filled in is not looked
// at again, and no character in it means anything.
func substitute(template string, values map[string]string) string {
	var b strings.Builder
	for template != "" {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		b.WriteString(template[:open])
		template = template[open:]
		word, known := placeholderAt(template)
		if !known {
			word = "{"
			b.WriteString(word)
		} else {
			b.WriteString(values[word])
		}
		template = template[len(word):]
	}
	b.WriteString(template)
	return b.String()
}

// placeholderAt returns the word that a text begins with.
func placeholderAt(s string) (string, bool) {
	for _, word := range []string{placeStep, placeData, placeTurn, placeUser} {
		if strings.HasPrefix(s, word) {
			return word, true
		}
	}
	return "", false
}

// OlderQuery writes the block that older clients' context is sent as. Its data is
// bounded like the preamble; truncation is as in Query.
func OlderQuery(c rondo.WorkflowContext, query string) (block, truncation string) {
	constraints := "none"
	if len(c.Constraints) > 0 {
		constraints = strings.Join(c.Constraints, " | ")
	}
	data, truncation := shrink(c.CollectedData, func(data string) bool { return units(data) <= maxPreamble })
	return "[WORKFLOW_CONTEXT]\nstep: " + c.Step + "\nconstraints: " + constraints +
		"\ndata: " + data + "\n[/WORKFLOW_CONTEXT]\n\n" + query, truncation
}

// dataJSON writes collected data in one line, by name.
func dataJSON(data map[string]json.RawMessage) string {
	if len(data) == 0 {
		return "{}"
	}
	written, err := compact(data)
	if err != nil { // not from JSON: name what there is
		return keysJSON(data)
	}
	return string(written)
}

func keysJSON(data map[string]json.RawMessage) string {
	written, err := compact(slices.Sorted(maps.Keys(data)))
	if err != nil {
		return "[]"
	}
	return string(written)
}

// units counts UTF-16 code units, as the clients of this API do.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
