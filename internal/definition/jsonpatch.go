package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// patchOp is one operation of a JSON Patch (RFC 6902).
type patchOp struct {
	op, path string
	value    any // not of remove
}

// MarshalJSON writes the members an operation has, value even when it is null.
func (o patchOp) MarshalJSON() ([]byte, error) {
	if o.op == "remove" {
		return marshalPlain(map[string]any{"op": o.op, "path": o.path})
	}
	return marshalPlain(map[string]any{"op": o.op, "path": o.path, "value": o.value})
}

// JSONPatch returns the JSON Patch that turns one document into another: add,
// remove and replace only, the same for the same documents, [] when they say the
// same. Members go by name; an array keeps its equal beginning and end.
func JSONPatch(before, after json.RawMessage) (json.RawMessage, error) {
	from, err := decodeAny(before)
	if err != nil {
		return nil, fmt.Errorf("compare documents: %w", err)
	}
	to, err := decodeAny(after)
	if err != nil {
		return nil, fmt.Errorf("compare documents: %w", err)
	}
	ops := diffValues([]patchOp{}, "", from, to)
	patch, err := marshalPlain(ops)
	if err != nil {
		return nil, fmt.Errorf("write patch: %w", err)
	}
	return patch, nil
}

func diffValues(ops []patchOp, at string, from, to any) []patchOp {
	switch f := from.(type) {
	case map[string]any:
		if t, ok := to.(map[string]any); ok {
			return diffObjects(ops, at, f, t)
		}
	case []any:
		if t, ok := to.([]any); ok {
			return diffArrays(ops, at, f, t)
		}
	}
	if sameValue(from, to) {
		return ops
	}
	return append(ops, patchOp{"replace", at, to})
}

func diffObjects(ops []patchOp, at string, from, to map[string]any) []patchOp {
	for _, name := range sortedKeys(from) {
		if after, stays := to[name]; stays {
			ops = diffValues(ops, at+pointer(name), from[name], after)
		} else {
			ops = append(ops, patchOp{op: "remove", path: at + pointer(name)})
		}
	}
	for _, name := range sortedKeys(to) {
		if _, old := from[name]; !old {
			ops = append(ops, patchOp{"add", at + pointer(name), to[name]})
		}
	}
	return ops
}

func diffArrays(ops []patchOp, at string, from, to []any) []patchOp {
	first := 0
	for first < len(from) && first < len(to) && sameValue(from[first], to[first]) {
		first++
	}
	last := 0
	for last < len(from)-first && last < len(to)-first && sameValue(from[len(from)-1-last], to[len(to)-1-last]) {
		last++
	}
	gone, come := from[first:len(from)-last], to[first:len(to)-last]
	both := min(len(gone), len(come))
	for i := range both {
		ops = diffValues(ops, at+pointer(strconv.Itoa(first+i)), gone[i], come[i])
	}
	for i := len(gone) - 1; i >= both; i-- { // from the end, so that places stay right
		ops = append(ops, patchOp{op: "remove", path: at + pointer(strconv.Itoa(first+i))})
	}
	for i := both; i < len(come); i++ {
		ops = append(ops, patchOp{"add", at + pointer(strconv.Itoa(first+i)), come[i]})
	}
	return ops
}

// sameValue compares decoded JSON; numbers by value, whatever their digits.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for name, value := range a {
			if against, there := other[name]; !there || !sameValue(value, against) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], other[i]) {
				return false
			}
		}
		return true
	case json.Number:
		other, ok := b.(json.Number)
		if !ok || a == other {
			return ok
		}
		x, errX := a.Float64()
		y, errY := other.Float64()
		return errX == nil && errY == nil && x == y
	}
	return a == b
}

// decodeAny decodes one JSON document and keeps the digits of its numbers.
func decodeAny(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one document")
	}
	return value, nil
}

// marshalPlain writes JSON without escapes for HTML.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
