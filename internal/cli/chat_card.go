package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// plainCard is an adaptive card as text.
type plainCard struct {
	lines   []string
	actions []cardAction
}

// cardAction is something that a card can do.
type cardAction struct {
	id     string // of the card
	kind   string // such as Action.Submit
	title  string
	url    string
	data   map[string]json.RawMessage
	inputs []cardInput // to fill in first
}

// cardInput is a field of a card.
type cardInput struct {
	id, label, kind string
	value           string
	choices         []cardChoice
	on, off         string // of a toggle
}

type cardChoice struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

// cardElement is what is read of the elements of a card; what it does not know is
// left out.
type cardElement struct {
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	Text        string          `json:"text"`
	AltText     string          `json:"altText"`
	Label       string          `json:"label"`
	Placeholder string          `json:"placeholder"`
	Title       string          `json:"title"`
	Value       json.RawMessage `json:"value"`
	ValueOn     string          `json:"valueOn"`
	ValueOff    string          `json:"valueOff"`
	URL         string          `json:"url"`
	Data        json.RawMessage `json:"data"`
	Choices     []cardChoice    `json:"choices"`
	Facts       []cardFact      `json:"facts"`
	Body        []cardElement   `json:"body"`
	Items       []cardElement   `json:"items"`
	Columns     []cardElement   `json:"columns"`
	Inlines     json.RawMessage `json:"inlines"`
	Actions     []cardElement   `json:"actions"`
}

type cardFact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

// readCard takes a card apart. A card that cannot be read is shown as nothing but
// a card: the agent's text usually says the same.
func readCard(raw json.RawMessage) plainCard {
	var root cardElement
	if err := json.Unmarshal(raw, &root); err != nil {
		return plainCard{lines: []string{"(it cannot be shown here)"}}
	}
	var card plainCard
	var inputs []cardInput
	card.read(root, &inputs)
	for i := range card.actions {
		if card.actions[i].kind != "Action.OpenUrl" {
			card.actions[i].inputs = inputs
		}
	}
	return card
}

func (c *plainCard) read(e cardElement, inputs *[]cardInput) {
	switch {
	case e.Type == "TextBlock" && e.Text != "":
		c.lines = append(c.lines, e.Text)
	case e.Type == "Image" && e.AltText != "":
		c.lines = append(c.lines, "("+e.AltText+")")
	case e.Type == "FactSet":
		for _, fact := range e.Facts {
			c.lines = append(c.lines, fact.Title+": "+fact.Value)
		}
	case strings.HasPrefix(e.Type, "Input.") && e.ID != "":
		*inputs = append(*inputs, inputOf(e))
	}
	for _, part := range slices.Concat(e.Body, e.Items, e.Columns) {
		c.read(part, inputs)
	}
	for _, action := range e.Actions {
		c.act(action)
	}
}

func (c *plainCard) act(e cardElement) {
	out := cardAction{kind: e.Type, title: e.Title, url: e.URL}
	if out.title == "" {
		out.title = strings.TrimPrefix(e.Type, "Action.")
	}
	_ = json.Unmarshal(e.Data, &out.data) // data that is no object has no members to send
	c.actions = append(c.actions, out)
}

func inputOf(e cardElement) cardInput {
	in := cardInput{id: e.ID, kind: e.Type, choices: e.Choices, on: e.ValueOn, off: e.ValueOff, value: jsonText(e.Value)}
	for _, label := range []string{e.Label, e.Title, e.Placeholder, e.ID} {
		if in.label == "" {
			in.label = label
		}
	}
	if in.kind == "Input.Toggle" {
		if in.on == "" {
			in.on = "true"
		}
		if in.off == "" {
			in.off = "false"
		}
		in.choices = []cardChoice{{Title: "yes", Value: in.on}, {Title: "no", Value: in.off}}
	}
	return in
}

// jsonText is a JSON string's text, or the JSON of anything else.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// fill asks for what a card wants to know and returns what it submits.
func (t *chatTalk) fill(ctx context.Context, action cardAction) (json.RawMessage, error) {
	data := map[string]json.RawMessage{}
	maps.Copy(data, action.data)
	for _, in := range action.inputs {
		value, err := t.ask(ctx, in)
		if err != nil {
			return nil, err
		}
		if data[in.id], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	kind, err := json.Marshal(action.kind)
	if err != nil {
		return nil, err
	}
	data["action"] = kind
	if action.url != "" {
		_, _ = fmt.Fprintln(t.out, "       "+plain(action.url))
		if data["url"], err = json.Marshal(action.url); err != nil {
			return nil, err
		}
	}
	return json.Marshal(data)
}

// ask reads the value of one field; an empty line takes what the card proposes.
func (t *chatTalk) ask(ctx context.Context, in cardInput) (string, error) {
	var prompt strings.Builder
	prompt.WriteString("  " + oneCell.Replace(plain(in.label)))
	for i, choice := range in.choices {
		fmt.Fprintf(&prompt, "  %d) %s", i+1, oneCell.Replace(plain(choice.Title)))
	}
	if in.value != "" {
		prompt.WriteString(" [" + oneCell.Replace(plain(in.value)) + "]")
	}
	line, ok := t.read(ctx, prompt.String()+": ")
	line = strings.TrimSpace(line)
	switch n, err := strconv.Atoi(line); {
	case !ok:
		return "", errLeft
	case line == "":
		return in.value, nil
	case err == nil && n >= 1 && n <= len(in.choices):
		return in.choices[n-1].Value, nil
	}
	for _, choice := range in.choices {
		if strings.EqualFold(choice.Title, line) {
			return choice.Value, nil
		}
	}
	return line, nil
}
