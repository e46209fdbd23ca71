package deftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	strictjson "github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// MaxTests bounds the tests of one definition.
const MaxTests = 500

// Parse reads tests: a JSON array of them.
func Parse(raw []json.RawMessage) ([]Test, error) {
	if len(raw) > MaxTests {
		return nil, invalid("", "too_many_tests", fmt.Sprintf("a definition has at most %d tests", MaxTests))
	}
	tests := make([]Test, 0, len(raw))
	names := map[string]bool{}
	var wrong []rondo.FieldError
	for i, one := range raw {
		var t Test
		at := "/tests/" + strconv.Itoa(i)
		if err := strictjson.Unmarshal(one, &t, strictjson.RejectUnknownMembers(true)); err != nil {
			wrong = append(wrong, malformed(at, err))
			continue
		}
		if t.Name == "" {
			t.Name = fmt.Sprintf("test %d", i+1)
		}
		if names[t.Name] {
			wrong = append(wrong, rondo.FieldError{Code: "repeated_name", Pointer: at + "/name", Message: "give each test a name of its own"})
		}
		names[t.Name] = true
		wrong = append(wrong, t.check(at)...)
		tests = append(tests, t)
	}
	if len(wrong) > 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the tests are not well-formed", Hint: "correct each place listed", Fields: wrong}
	}
	return tests, nil
}

// ParseFile reads a file of tests, JSON or YAML: a list of them, or an object
// whose member tests is that list.
func ParseFile(src []byte) ([]json.RawMessage, error) {
	body, err := definition.PlainJSON(src)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(body, []byte("{")) {
		var file struct {
			Tests []json.RawMessage `json:"tests"`
		}
		if err := strictjson.Unmarshal(body, &file, strictjson.RejectUnknownMembers(true)); err != nil {
			return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "a file of tests holds a list of them, as it is or as its member tests", Fields: []rondo.FieldError{malformed("", err)}}
		}
		return file.Tests, nil
	}
	var tests []json.RawMessage
	if err := json.Unmarshal(body, &tests); err != nil {
		return nil, invalid("", "malformed_tests", "a file of tests holds a list of them")
	}
	return tests, nil
}

func (t *Test) check(at string) (wrong []rondo.FieldError) {
	add := func(where, message string) {
		wrong = append(wrong, rondo.FieldError{Code: "malformed_test", Pointer: at + where, Message: message})
	}
	if m := t.Given.Mode; m != "" && m != rondo.ModeActive && m != rondo.ModeClientDriven {
		add("/given/mode", "use active or client_driven")
	}
	for id, script := range t.Given.Steps {
		if len(script) == 0 {
			add("/given/steps/"+id, "give at least one answer")
		}
		for _, a := range script {
			if a.ways() != 1 {
				add("/given/steps/"+id, "give exactly one of complete, fail, choose and silent")
			}
		}
	}
	for i, a := range t.Given.Events {
		if a.Type == "" {
			add("/given/events/"+strconv.Itoa(i), "name the type of the event")
		}
	}
	for i, a := range t.Given.Actions {
		switch rondo.ActionName(a.Action) {
		case rondo.ActionHalt, rondo.ActionResume, rondo.ActionCancel, rondo.ActionRetryStep, rondo.ActionSkipStep, rondo.ActionSetMode:
		default:
			add("/given/actions/"+strconv.Itoa(i)+"/action", "use halt, resume, cancel, retry_step, skip_step or set_mode")
		}
	}
	if t.Expect.empty() {
		add("/expect", `expect something, e.g. "status": "completed"; a test that expects nothing shows nothing`)
	}
	return wrong
}

func (e *Expect) empty() bool {
	return e.Path == nil && e.Status == "" && e.HaltReason == "" && e.HaltStepID == "" && len(e.Events) == 0 && len(e.Context) == 0 &&
		e.Waiting == nil && e.Took == nil
}

func (a *Answer) ways() int {
	n := 0
	for _, given := range []bool{a.Complete != nil, a.Fail != nil, a.Choose != "", a.Silent} {
		if given {
			n++
		}
	}
	return n
}

// UnmarshalJSON takes one answer or a list of them.
func (s *Script) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		var list []Answer
		if err := strictjson.Unmarshal(raw, &list, strictjson.RejectUnknownMembers(true)); err != nil {
			return err
		}
		*s = list
		return nil
	}
	var one Answer
	if err := strictjson.Unmarshal(raw, &one, strictjson.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*s = Script{one}
	return nil
}

// Duration is a time span in a file: "90s", "2h30m", "3d", or seconds as a
// number.
type Duration time.Duration

// UnmarshalJSON reads either form.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil || seconds < 0 || seconds > math.MaxInt32 {
			return fmt.Errorf(`%s is no time span; write "90s", "2h", "3d" or seconds`, raw)
		}
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	days, rest := 0.0, text
	if number, tail, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return fmt.Errorf(`%q is no time span; write "90s", "2h", "3d" or seconds`, text)
		}
		days, rest = n, tail
	}
	span := time.Duration(0)
	if rest != "" {
		var err error
		if span, err = time.ParseDuration(rest); err != nil {
			return fmt.Errorf(`%q is no time span; write "90s", "2h", "3d" or seconds`, text)
		}
	}
	span += time.Duration(days * 24 * float64(time.Hour))
	if span < 0 || (text == "") {
		return fmt.Errorf("%q is no time span that lies ahead", text)
	}
	*d = Duration(span)
	return nil
}

// Seconds is the span in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

func invalid(pointer, code, message string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: message, Fields: []rondo.FieldError{{Code: code, Pointer: pointer, Message: message}}}
}
