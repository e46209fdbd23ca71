package definition

import (
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo"
)

// maxTests bounds the tests beside one definition.
const (
	maxTests     = 500
	tooManyTests = "a definition has at most %d tests, this one has %d; merge or remove some"
)

// TestsOf returns the tests that stand beside a definition, each as written, and
// whether they must pass before it can be published. What a test says is not
// judged here.
func TestsOf(body json.RawMessage) (tests []json.RawMessage, required bool, err error) {
	var p problems
	r := reader{problems: &p}
	if top, ok := r.object(body, ""); ok {
		tests, _ = r.member(top, "", "tests").array()
		required = r.member(top, "", "require_tests").boolean()
	}
	if len(tests) > maxTests {
		p.add("too_many_tests", "/tests", tooManyTests, maxTests, len(tests))
	}
	if len(p.errors) > 0 {
		return nil, false, &rondo.Error{Code: rondo.CodeInvalid, Op: "read tests", Message: "the tests of the definition cannot be read", Fields: p.errors}
	}
	return tests, required, nil
}

// withoutTests is the definition as it drives cases.
func withoutTests(body json.RawMessage) (json.RawMessage, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, fmt.Errorf("leave out the tests: %w", err)
	}
	delete(top, "tests")
	delete(top, "require_tests")
	return json.Marshal(top)
}
