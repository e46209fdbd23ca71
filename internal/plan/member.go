package plan

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

// CheckPath says what is wrong with a path such as data.items[0].title, nil =
// nothing. Paths are those of selectors.
func CheckPath(text string) error {
	if _, err := parsePath(text); err != nil {
		return rondo.Invalid(err.Error())
	}
	return nil
}

// Member is what a path leads to within a value; nil = nothing is there.
func Member(value json.RawMessage, text string) (json.RawMessage, error) {
	way, err := parsePath(text)
	if err != nil {
		return nil, rondo.Invalid(err.Error())
	}
	found, problem := follow(value, way)
	if problem != "" {
		return nil, rondo.Invalid(problem)
	}
	return found, nil
}
