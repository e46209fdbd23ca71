package store

import (
	"cmp"
	"slices"

	"github.com/rondo-engine/rondo"
)

// Searchable is what a driver keeps of the values of a path: ascending by text,
// each text once, as a number if it is one in any place, without those that are
// too long.
func Searchable(values []rondo.AttributeValue) []rondo.AttributeValue {
	kept := make([]rondo.AttributeValue, 0, len(values))
	for _, v := range values {
		if len(v.Text) > rondo.MaxAttributeBytes {
			continue
		}
		if !v.IsNumber {
			v.Number = 0
		}
		at, known := slices.BinarySearchFunc(kept, v.Text, func(have rondo.AttributeValue, text string) int { return cmp.Compare(have.Text, text) })
		switch {
		case !known:
			kept = slices.Insert(kept, at, v)
		case v.IsNumber:
			kept[at] = v
		}
	}
	return kept
}

// Tests are the searches of a filter by value: its tag is one of them.
func (f InstanceFilter) Tests() ([]AttributeTest, error) {
	tests := f.Where
	if f.Tag != "" {
		tests = append([]AttributeTest{{Path: rondo.TagPath, Op: "=", Value: rondo.AttributeValue{Text: f.Tag}}}, f.Where...)
	}
	for _, test := range tests {
		if test.Path == "" || !slices.Contains(comparisons[:], test.Op) {
			return nil, rondo.Invalid("a search by context value needs a path and one of =, !=, <, <=, > and >=")
		}
	}
	return tests, nil
}

var comparisons = [...]string{"=", "!=", "<", "<=", ">", ">="}

// Holds reports whether one of the values of the path passes.
func (t AttributeTest) Holds(values []rondo.AttributeValue) bool {
	return slices.ContainsFunc(values, t.passes)
}

func (t AttributeTest) passes(v rondo.AttributeValue) bool {
	if v.IsNumber != t.Value.IsNumber {
		return t.Op == "!="
	}
	order := cmp.Compare(v.Text, t.Value.Text)
	switch t.Op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	}
	if t.Value.IsNumber {
		order = cmp.Compare(v.Number, t.Value.Number)
	}
	switch t.Op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}
