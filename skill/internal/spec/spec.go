// Package spec reads the configuration of skills strictly: what it does not know is
// named, with its place and what would be known there.
//
// It imports the standard library, the root package and internal/canon.
package spec

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// Problems gathers what is wrong with a configuration.
type Problems struct{ fields []rondo.FieldError }

// Add notes that the member at a pointer such as /command is wrong.
func (p *Problems) Add(pointer, code, message string) {
	p.fields = append(p.fields, rondo.FieldError{Code: code, Pointer: pointer, Message: message})
}

// Err is all of it, or nil.
func (p *Problems) Err(kind string) error {
	if len(p.fields) == 0 {
		return nil
	}
	message := "the configuration of this " + kind + " skill is not valid: " + strings.TrimPrefix(p.fields[0].Pointer, "/") + ": " + p.fields[0].Message
	if more := len(p.fields) - 1; more > 0 {
		message += " (and " + strconv.Itoa(more) + " more)"
	}
	return &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: strings.Replace(message, ": : ", ": ", 1),
		Hint: "docs/skills.md lists every member of config", Fields: p.fields,
	}
}

// Decode reads a configuration into a struct and notes what does not fit. No
// configuration is an empty one. It reports whether the struct can be looked at.
func Decode(raw json.RawMessage, into any, problems *Problems) bool {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if err := canon.Check(raw, canon.Limits{}); err != nil {
		refused, ok := errors.AsType[*canon.Error](err)
		if !ok {
			problems.Add("", "malformed", "config is not JSON")
			return false
		}
		problems.Add(refused.Pointer, "malformed", refused.Message)
		return false
	}
	before := len(problems.fields)
	walk(raw, reflect.TypeOf(into).Elem(), "", problems)
	if len(problems.fields) > before {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		place := ""
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			place = "/" + strings.ReplaceAll(wrong.Field, ".", "/")
			problems.Add(place, "type", "this is a JSON "+wrong.Value+", which does not fit here")
			return false
		}
		problems.Add(place, "type", "this value does not fit here")
		return false
	}
	return true
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	ownDecoder = reflect.TypeFor[json.Unmarshaler]()
)

// walk looks for members that no field takes, at every depth.
func walk(raw json.RawMessage, kind reflect.Type, pointer string, problems *Problems) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind == rawType || reflect.PointerTo(kind).Implements(ownDecoder) {
		return
	}
	switch kind.Kind() {
	case reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			problems.Add(pointer, "type", "this is not an object")
			return
		}
		known := fields(kind)
		for _, name := range sorted(members) {
			field, ok := known[name]
			if !ok {
				problems.Add(pointer+"/"+escape(name), "unknown_member", "no such member is known: known are "+strings.Join(sorted(known), ", "))
				continue
			}
			walk(members[name], field, pointer+"/"+escape(name), problems)
		}
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			problems.Add(pointer, "type", "this is not an array")
			return
		}
		for i, item := range items {
			walk(item, kind.Elem(), pointer+"/"+strconv.Itoa(i), problems)
		}
	case reflect.Map:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			problems.Add(pointer, "type", "this is not an object")
			return
		}
		for _, name := range sorted(members) {
			walk(members[name], kind.Elem(), pointer+"/"+escape(name), problems)
		}
	default:
		if json.Unmarshal(raw, reflect.New(kind).Interface()) != nil || string(raw) == "null" {
			problems.Add(pointer, "type", "this is not a "+word(kind.Kind()))
		}
	}
}

func fields(kind reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			known[name] = field.Type
		}
	}
	return known
}

func sorted[V any](members map[string]V) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func word(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	default:
		return "number"
	}
}
