package httpapi

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

// truth is a member that takes true or false.
func truth(name string, into *bool) member {
	return member{name: name, raw: func(value []byte) *rondo.FieldError {
		if json.Unmarshal(value, into) != nil {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be true or false"}
		}
		return nil
	}}
}

// texts is a member that takes a list of strings.
func texts(name string, into *[]string) member {
	return member{name: name, raw: func(value []byte) *rondo.FieldError {
		var list []*string
		wrong := json.Unmarshal(value, &list) != nil
		out := make([]string, 0, len(list))
		for _, text := range list {
			if text == nil || len(*text) > maxText || !storable(*text) {
				wrong = true
				break
			}
			out = append(out, *text)
		}
		if wrong {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be a list of strings"}
		}
		*into = out
		return nil
	}}
}

// given makes a member tell that it was there, with a value that fits.
func given(m member, there func()) member {
	plain := m
	m.text = nil
	m.raw = func(value []byte) *rondo.FieldError {
		if wrong := plain.take(value); wrong != nil {
			return wrong
		}
		there()
		return nil
	}
	m.there = there
	return m
}

// orNull lets a member of given be null, which is to say empty.
func orNull(m member) member {
	m.null = m.there
	return m
}
