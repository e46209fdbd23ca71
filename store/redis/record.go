package redis

import (
	"bytes"
	"encoding/json"
	"errors"

	fastjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rondo-engine/rondo"
)

// olderHistory is what records of earlier versions have in them.
type olderHistory struct {
	History []json.RawMessage `json:"history"`
}

// lenient reads what encoding/json reads too, in a third of its time.
var lenient = fastjson.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// decode reads a stored document, which is an object.
func decode(op, what, text string, into any) error {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return corrupt(op, "the stored "+what+" is not a JSON object", nil)
	}
	if err := fastjson.Unmarshal(trimmed, into, lenient); err != nil {
		return corrupt(op, "the stored "+what+" cannot be read", plain(err))
	}
	return nil
}

// plain drops what an error of decoding may quote of the document.
func plain(err error) error {
	return &rondo.Error{Code: rondo.CodeStateCorrupt, Message: "at " + jsonPlace(err)}
}

func jsonPlace(err error) string {
	if wrong, ok := errors.AsType[*fastjson.SemanticError](err); ok {
		return "member " + string(wrong.JSONPointer) + ": wrong type"
	}
	return "a syntax error"
}

func decodeConversation(op, id, text string) (rondo.Conversation, error) {
	var c rondo.Conversation
	if err := decode(op, "conversation", text, &c); err != nil {
		return c, err
	}
	if c.ExternalID == "" {
		c.ExternalID = id // earlier versions had it in the key alone
	}
	return c, nil
}

// encode writes a document.
func encode(op, what string, document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "the " + what + " cannot be written as JSON", Err: err}
	}
	return text, nil
}

// encodeTurn writes a turn record with its response byte for byte, which
// encoding/json would make compact. The response is the last member.
func encodeTurn(op string, t *rondo.TurnRecord) ([]byte, error) {
	bare := *t
	bare.Response = nil
	text, err := encode(op, "turn record", &bare)
	if err != nil || len(t.Response) == 0 {
		return text, err
	}
	if !json.Valid(t.Response) {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "the response of a turn is not JSON"}
	}
	text = append(text[:len(text)-1], `,"response":`...)
	return append(append(text, t.Response...), '}'), nil
}
