package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// readBody reads and strictly checks the body of a request: its format, its
// size, and that it is one unambiguous JSON document. It returns nil when there
// is none and none is needed.
func readBody(w http.ResponseWriter, r *http.Request, row Route) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &rondo.Error{Code: codeUnsupportedMedia, Message: "bodies with a Content-Encoding are not accepted", Hint: "send the body as it is"}
	}
	limit := row.MaxBody
	if limit == 0 {
		limit = maxBody
	}
	if row.Body == BodyNone {
		limit = 0
		if row.ID == "cancel-run" || row.ID == "retry-run" {
			limit = int64(len("{}")) // which says nothing: clients of such routes send it
		}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); !over {
			return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the body could not be read to its end", Hint: "send it again", Err: err}
		}
		if row.Body == BodyNone {
			return nil, errNoBody()
		}
		return nil, tooLarge(limit)
	}
	if row.Body == BodyNone && len(raw) > 0 {
		if string(raw) != "{}" {
			return nil, errNoBody()
		}
		return nil, nil
	}
	if len(raw) == 0 {
		if row.Body == BodyRequired {
			return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the body is missing", Hint: "send a JSON object"}
		}
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &rondo.Error{Code: codeUnsupportedMedia, Message: "the Content-Type of the body is not application/json", Hint: "send JSON with \"Content-Type: application/json\""}
	}
	if err := canon.Check(raw, canon.Limits{Bytes: int(limit)}); err != nil {
		return nil, badJSON(err, limit)
	}
	return raw, nil
}

func errNoBody() *rondo.Error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: "this route takes no body", Hint: "leave the body out"}
}

func tooLarge(limit int64) *rondo.Error {
	said := "256 KiB"
	if limit == maxDefinitionBody {
		said = "1 MiB"
	}
	return &rondo.Error{Code: rondo.CodeTooLarge, Message: "the body is larger than " + said, Hint: "send less"}
}

func badJSON(err error, limit int64) error {
	at, ok := errors.AsType[*canon.Error](err)
	if !ok {
		return rondo.Op("check the body", err)
	}
	if at.TooLarge {
		return tooLarge(limit)
	}
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: "the body is not acceptable JSON", Hint: "correct what errors lists",
		Fields: []rondo.FieldError{{Code: "bad_json", Pointer: at.Pointer, Message: at.Message}},
	}
}

// member is one member of a body: where it goes and whether it must be there.
type member struct {
	name       string
	required   bool
	identifier bool                                 // the text must be an id that comes from outside; else it is free text
	text       *string                              // takes a string
	raw        func(value []byte) *rondo.FieldError // takes anything else
	null       func()                               // told that it is null; nil = null counts as absent
	there      func()                               // see given
}

// maxText bounds free text such as reasons and notes.
const maxText = 4 << 10

// decode reads an object with exactly the members given; null counts as absent.
// Names are compared exactly, so that a variant in another case is unknown and
// cannot shadow a checked one. All that is wrong is told at once.
func decode(raw []byte, members ...member) error { return decodeWith(raw, unknownMember, members) }

// decodeWith is decode with a say on members that are not known.
func decodeWith(raw []byte, unknown func(name string, members []member) *rondo.FieldError, members []member) error {
	if raw == nil {
		raw = []byte("{}")
	}
	var wrong []rondo.FieldError
	seen := make([]bool, len(members))
	err := canon.Members(raw, canon.Limits{Bytes: maxDefinitionBody}, func(name, value []byte) {
		for i := range members {
			if string(name) != members[i].name {
				continue
			}
			switch {
			case string(value) != "null":
				seen[i] = true
				if field := members[i].take(value); field != nil {
					wrong = append(wrong, *field)
				}
			case members[i].null != nil:
				members[i].null()
			}
			return
		}
		if field := unknown(string(name), members); field != nil {
			wrong = append(wrong, *field)
		}
	})
	if err != nil {
		return badJSON(err, maxDefinitionBody)
	}
	for i, m := range members {
		if m.required && !seen[i] {
			wrong = append(wrong, rondo.FieldError{Code: "required", Pointer: "/" + m.name, Message: m.name + " is required"})
		}
	}
	if len(wrong) > 0 {
		return badBody(wrong...)
	}
	return nil
}

func badBody(wrong ...rondo.FieldError) *rondo.Error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: "the body does not match what this route takes", Hint: "correct what errors lists", Fields: wrong}
}

func (m member) take(value []byte) *rondo.FieldError {
	if m.text == nil {
		return m.raw(value)
	}
	text, ok := canon.Text(value)
	s := string(text)
	switch {
	case !ok:
		return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + m.name, Message: m.name + " must be a string"}
	case m.required && strings.TrimSpace(s) == "":
		return &rondo.FieldError{Code: "required", Pointer: "/" + m.name, Message: m.name + " must not be empty"}
	case m.identifier && !identifier(s):
		return &rondo.FieldError{Code: "not_an_identifier", Pointer: "/" + m.name, Message: "use " + identifierRule}
	case len(s) > maxText:
		return &rondo.FieldError{Code: "too_long", Pointer: "/" + m.name, Message: m.name + " is too long"}
	case !storable(s):
		return &rondo.FieldError{Code: "not_text", Pointer: "/" + m.name, Message: m.name + " must not contain NUL"}
	}
	*m.text = s
	return nil
}

// unknownMember does not echo the name, unless it is a known one in another
// case: then it says how to spell it.
func unknownMember(name string, members []member) *rondo.FieldError {
	names := make([]string, len(members))
	for i, m := range members {
		if strings.EqualFold(name, m.name) {
			return &rondo.FieldError{Code: "unknown_member", Pointer: "/" + m.name, Message: "spell it exactly " + m.name}
		}
		names[i] = m.name
	}
	told := "leave out members that this route does not know"
	if len(names) > 0 {
		told += "; it knows " + strings.Join(names, ", ")
	}
	return &rondo.FieldError{Code: "unknown_member", Pointer: "", Message: told}
}
