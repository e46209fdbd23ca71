package deftest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	strictjson "github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
)

// malformed says what is wrong with a test in the words of its author: the place,
// and what could stand there.
func malformed(at string, err error) rondo.FieldError {
	finding := rondo.FieldError{Code: "malformed_test", Pointer: at, Message: strings.TrimPrefix(err.Error(), "json: ")}
	for {
		bad, ok := errors.AsType[*strictjson.SemanticError](err)
		if !ok {
			return finding
		}
		finding.Pointer += string(bad.JSONPointer)
		name := finding.Pointer[strings.LastIndexByte(finding.Pointer, '/')+1:]
		switch {
		case errors.Is(bad.Err, strictjson.ErrUnknownName):
			finding.Message = fmt.Sprintf("%q is not known here; use %s", name, strings.Join(members(bad.GoType), ", "))
		case bad.Err != nil:
			finding.Message = bad.Err.Error()
		default:
			finding.Message = fmt.Sprintf("%s must be %s", name, shape(bad.GoType))
		}
		if err = bad.Err; err == nil {
			return finding
		}
	}
}

// members are the names that an object of the type has.
func members(t reflect.Type) []string {
	var names []string
	if t == nil || t.Kind() != reflect.Struct {
		return names
	}
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// shape is a type in words.
func shape(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "of another type"
}
