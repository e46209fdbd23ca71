package httpapi

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/canon"
)

// The bodies of the chat API, for the document. Members that are not known are
// ignored: clients send more than is needed.
type (
	chatStart struct {
		_          struct{} `json:"-" additionalProperties:"true"`
		Definition *string  `json:"definition,omitempty" doc:"Name of the conversation definition. Default: that of the server"`
	}
	chatSend struct {
		_               struct{} `json:"-" additionalProperties:"true"`
		ConversationID  string   `json:"conversationId" format:"uuid"`
		Text            string   `json:"text" minLength:"1" maxLength:"4000" doc:"What the user says, in UTF-16 units; the server may have another limit"`
		WorkflowContext anyJSON  `json:"workflowContext,omitempty" doc:"Accepted and ignored: the server knows where the workflow stands"`
	}
	chatCard struct {
		_              struct{}           `json:"-" additionalProperties:"true"`
		ConversationID string             `json:"conversationId" format:"uuid"`
		CardID         string             `json:"cardId" doc:"cardId of the message with the card"`
		UserSummary    string             `json:"userSummary" doc:"What the history says that the user did"`
		SubmitData     map[string]anyJSON `json:"submitData" doc:"What the card submits. Its member action is the type of the action, such as Action.Submit"`
	}
	chatQuery struct {
		_               struct{}         `json:"-" additionalProperties:"true"`
		Query           string           `json:"query" minLength:"1"`
		ConversationID  *string          `json:"conversationId,omitempty" doc:"Go on with this one. Default: a new one"`
		WorkflowContext *workflowContext `json:"workflowContext,omitempty" doc:"Told to the agent in place of what the server knows"`
	}
	workflowContext struct {
		_             struct{}           `json:"-" additionalProperties:"true"`
		Step          string             `json:"step" minLength:"1"`
		Constraints   []string           `json:"constraints,omitempty"`
		CollectedData map[string]anyJSON `json:"collectedData,omitempty"`
	}
	chatEnd struct {
		_       struct{} `json:"-" additionalProperties:"true"`
		Outcome *string  `json:"outcome,omitempty" enum:"completed,abandoned" doc:"Default abandoned"`
		Reason  *string  `json:"reason,omitempty"`
	}
)

// decodeOpen is decode for bodies that may have members nobody here knows.
func decodeOpen(raw []byte, members ...member) error {
	return decodeWith(raw, func(string, []member) *rondo.FieldError { return nil }, members)
}

// phrase is a member that takes text which fits: unlike other members it may be
// blank, because what users say is theirs.
func phrase(name string, required bool, into *string, fits func(string) (code, message string)) member {
	return member{name: name, required: required, raw: func(value []byte) *rondo.FieldError {
		text, ok := canon.Text(value)
		s := string(text)
		code, message := "wrong_type", name+" must be a string"
		if ok {
			code, message = fits(s)
		}
		if ok && code == "" && !storable(s) {
			code, message = "not_text", name+" must not contain NUL"
		}
		if code != "" {
			return &rondo.FieldError{Code: code, Pointer: "/" + name, Message: message}
		}
		*into = s
		return nil
	}}
}

func anyWords(string) (string, string) { return "", "" }

// spoken is for what must say something; how much it may say is the turn
// service's business.
func spoken(name string) func(string) (string, string) {
	return func(s string) (string, string) {
		if s == "" {
			return "required", name + " must not be empty"
		}
		return "", ""
	}
}

// conversationID is the member that names the conversation of a turn.
func (a *API) conversationID(required bool, into *string) member {
	return phrase("conversationId", required, into, func(s string) (string, string) {
		if _, err := rondo.ParseID(s); err != nil && !a.cfg.ChatAnyID {
			return "not_a_uuid", "use the conversationId that start answered"
		}
		if !chatID(s) {
			return "out_of_range", "use 1 to 255 characters"
		}
		return "", ""
	})
}

// required makes a member one that must be there.
func required(m member) member {
	m.required = true
	return m
}

func (a *API) readStart(body []byte, in *chat.Request) error {
	return decodeOpen(body, phrase("definition", false, &in.Definition, func(s string) (string, string) {
		if !identifier(s) {
			return "not_an_identifier", "use " + identifierRule
		}
		return "", ""
	}))
}

func (a *API) readSend(body []byte, in *chat.Request) error {
	return decodeOpen(body,
		a.conversationID(true, &in.ConversationID),
		phrase("text", true, &in.Text, spoken("text")))
}

func (a *API) readCard(body []byte, in *chat.Request) error {
	return decodeOpen(body,
		a.conversationID(true, &in.ConversationID),
		phrase("cardId", true, &in.CardID, anyWords),
		phrase("userSummary", true, &in.UserSummary, anyWords),
		required(object("submitData", &in.SubmitData)))
}

func (a *API) readQueryBody(body []byte, in *chat.Request) error {
	var given json.RawMessage
	err := decodeOpen(body,
		phrase("query", true, &in.Text, spoken("query")),
		a.conversationID(false, &in.ConversationID),
		object("workflowContext", &given))
	if err != nil || given == nil {
		return err
	}
	return readContext(given, in)
}

// readContext reads what an older client says of the workflow.
func readContext(given json.RawMessage, in *chat.Request) error {
	var out rondo.WorkflowContext
	var data json.RawMessage
	err := decodeOpen(given,
		phrase("step", true, &out.Step, spoken("step")),
		texts("constraints", &out.Constraints),
		object("collectedData", &data))
	if wrong, ok := err.(*rondo.Error); ok { //nolint:errorlint // it was made here, not wrapped
		for i := range wrong.Fields {
			wrong.Fields[i].Pointer = "/workflowContext" + wrong.Fields[i].Pointer
		}
		return wrong
	}
	if err == nil && data != nil {
		err = rondo.Op("read collectedData", json.Unmarshal(data, &out.CollectedData))
	}
	in.Context = &out
	return err
}

func (a *API) readEnd(body []byte, in *chat.Request) error {
	return decodeOpen(body,
		phrase("outcome", false, &in.Outcome, func(s string) (string, string) {
			if s != string(rondo.ConversationCompleted) && s != string(rondo.ConversationAbandoned) {
				return "unknown_value", "use completed or abandoned"
			}
			return "", ""
		}),
		member{name: "reason", text: &in.Reason})
}
