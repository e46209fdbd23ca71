package openai

import (
	"cmp"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

const defaultInstructions = "You guide a person through a workflow, one question at a time. " +
	"A message may begin with a block that says where the workflow stands and what is known already: use it, do not mention it."

// structuredOutput explains Rondo's own object to the model.
const structuredOutput = "\n\nAnswer with one JSON object. `action` is what happens next: ask (you need something from the person), " +
	"research (you need to look something up), confirm (they should confirm what was collected), complete (everything is done) " +
	"or error. `prompt` is what the person reads. `data` has what you learned from this message, as named fields. " +
	"`confidence` is between 0 and 1. `citations` are the addresses of your sources."

// outputSchema is the structured output of Rondo itself. `prompt` stands first so
// that it streams first.
const outputSchema = `{
	"type": "object",
	"properties": {
		"prompt": {"type": "string"},
		"action": {"type": "string", "enum": ["ask", "research", "confirm", "complete", "error"]},
		"data": {"type": "object"},
		"confidence": {"type": "number", "minimum": 0, "maximum": 1},
		"citations": {"type": "array", "items": {"type": "string"}}
	},
	"required": ["prompt", "action"]
}`

type request struct {
	binding
	Stream   bool           `json:"stream"`
	Messages []said         `json:"messages"`
	Format   responseFormat `json:"response_format"`
}

// binding is what a definition may say about the model.
type binding struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature,omitempty"` // nil = the model's own
}

// wanted is the model as the definition wants it, or the configured one.
func (a *Agent) wanted(session agent.Session) (binding, error) {
	var wanted binding
	if len(session.Binding) > 0 {
		if err := json.Unmarshal(session.Binding, &wanted); err != nil {
			return binding{}, a.client.Malformed("the definition's agent member has a model or a temperature that is none")
		}
	}
	wanted.Model = cmp.Or(wanted.Model, a.cfg.Model)
	return wanted, nil
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

// jsonSchema is not strict: strict schemas cannot have objects with open names,
// which `data` is.
type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// request is everything the model is told.
func (a *Agent) request(wanted binding, session agent.Session, message rondo.Activity) request {
	system := a.cfg.Instructions
	if session.Instructions != "" {
		system = session.Instructions
	}
	schema := session.OutputSchema
	if schema == nil {
		schema = json.RawMessage(outputSchema)
		system += structuredOutput
	}
	messages := []said{{"system", system}}
	history := session.History
	if over := len(history) - a.cfg.History; over > 0 {
		history = history[over:]
	}
	for _, earlier := range history {
		if earlier.Text != "" && (earlier.Role == rondo.RoleUser || earlier.Role == rondo.RoleAssistant) {
			messages = append(messages, said{earlier.Role, earlier.Text})
		}
	}
	text := message.Text
	if text == "" {
		text = string(message.Value) // a submitted card
	}
	return request{
		binding: wanted, Stream: true,
		Messages: append(messages, said{rondo.RoleUser, text}),
		Format:   responseFormat{Type: "json_schema", Schema: jsonSchema{Name: "turn", Schema: schema}},
	}
}
