package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"text/template"
)

// functions are what templates can call beside and, or, not, eq, ne, lt, le, gt, ge,
// index, slice and len. Those of text/template that make texts are replaced by
// bounded ones.
func (r *rendering) functions() template.FuncMap {
	return template.FuncMap{
		turnName:  r.turn,
		enterName: r.enter,
		leaveName: r.leave,
		maybeName: maybeValue,

		"print":    func(args ...any) (string, error) { return r.bounded(fmt.Sprint, args...) },
		"println":  func(args ...any) (string, error) { return r.bounded(fmt.Sprintln, args...) },
		"printf":   r.printf,
		"html":     r.escaped(template.HTMLEscape),
		"js":       r.escaped(template.JSEscape),
		"urlquery": func(args ...any) (string, error) { return r.bounded(template.URLQueryEscaper, args...) },
		"urlpart":  func(args ...any) (string, error) { return r.bounded(urlPart, args...) },
		"call":     func(any, ...any) (string, error) { return "", errors.New("nothing can be called") },

		"json":      r.json,
		"raw":       func(v any) any { return v },
		"default":   orDefault,
		"has":       has,
		"lower":     r.one(strings.ToLower),
		"upper":     r.one(strings.ToUpper),
		"trim":      r.one(strings.TrimSpace),
		"replace":   r.replace,
		"split":     r.split,
		"lines":     func(s string) ([]string, error) { return r.split("\n", strings.TrimSuffix(s, "\n")) },
		"join":      r.join,
		"contains":  func(part, s string) bool { return strings.Contains(s, part) },
		"hasPrefix": func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
		"hasSuffix": func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
		"indent":    r.indent,
		"add":       func(a, b int64) int64 { return a + b },
		"sub":       func(a, b int64) int64 { return a - b },
	}
}

func (r *rendering) one(change func(string) string) func(string) (string, error) {
	return func(s string) (string, error) { return r.whole(change(s)) }
}

func (r *rendering) replace(old, with, s string) (string, error) {
	if int64(len(s))+int64(strings.Count(s, old))*int64(len(with)) > r.limit {
		return "", errTooLong
	}
	return r.whole(strings.ReplaceAll(s, old, with))
}

func (r *rendering) split(separator, s string) ([]string, error) {
	parts := strings.Count(s, separator) + 1
	if parts > maxTurns {
		return nil, errTurns
	}
	if err := r.spend(parts * bytesPerPart); err != nil {
		return nil, err
	}
	return strings.Split(s, separator), nil
}

func (r *rendering) indent(spaces int, s string) (string, error) {
	if spaces < 0 || spaces > 100 {
		return "", errors.New("indent takes 0 to 100 spaces")
	}
	return r.replace("\n", "\n"+strings.Repeat(" ", spaces), strings.Repeat(" ", spaces)+s)
}

func (r *rendering) join(separator string, list any) (string, error) {
	value := reflect.ValueOf(list)
	if value.Kind() != reflect.Slice {
		return "", errors.New("join takes a list")
	}
	var out strings.Builder
	for i := range value.Len() {
		if i > 0 {
			out.WriteString(separator)
		}
		element := value.Index(i).Interface()
		if int64(out.Len())+least(r.limit, element) > r.limit {
			return "", errTooLong
		}
		fmt.Fprint(&out, element)
	}
	return r.whole(out.String())
}

// json writes a value as JSON, members in order.
func (r *rendering) json(value any) (string, error) {
	if least(r.limit, value) > r.limit {
		return "", errTooLong
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return "", errors.New("json cannot write this")
	}
	return r.whole(strings.TrimSuffix(out.String(), "\n"))
}

// maybeValue follows names as far as they lead; nil where they lead nowhere.
func maybeValue(from any, names ...string) any {
	for _, name := range names {
		members, ok := from.(map[string]any)
		if !ok {
			return nil
		}
		from = members[name]
	}
	return from
}

// has reports whether an object has a member.
func has(name string, from any) bool {
	members, ok := from.(map[string]any)
	_, there := members[name]
	return ok && there
}

// orDefault is a value, or another one when it is absent or empty.
func orDefault(otherwise, value any) any {
	if truth, ok := template.IsTrue(value); !ok || !truth {
		return otherwise
	}
	return value
}

// urlPart escapes everything that could end the part of a URL that it stands in.
func urlPart(args ...any) string {
	return strings.ReplaceAll(url.QueryEscape(fmt.Sprint(args...)), "+", "%20")
}
