package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// The page sizes.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// maxIdentifier bounds ids that come from outside; identifierRule says it.
const (
	maxIdentifier  = 128
	identifierRule = "1 to 128 bytes of UTF-8 without NUL"
)

// Param is one query parameter.
type Param struct {
	Name   string
	Doc    string
	Format string   // uuid, date-time, integer, age, tests, list, group, digest, text (any); "" = a string of 1 to 128 bytes
	Enum   []string // the words it may be; empty = any
}

func orgOnly() []Param {
	return []Param{{Name: "org_id", Doc: "Act for this organisation. Only an admin may name another than their own"}}
}

// orgPaged are the parameters of a list that takes nothing else.
func orgPaged() []Param { return append(orgOnly(), paging()...) }

func paging() []Param {
	return []Param{
		{Name: "limit", Doc: "Items per page, 1 to 200. Default 50", Format: "integer"},
		{Name: "cursor", Doc: "next_cursor of the page before", Format: "cursor"},
	}
}

func definitionFilters() []Param {
	return append(append(orgOnly(),
		Param{Name: "product_id", Doc: "Of this product only"},
		Param{Name: "status", Doc: "In this state only", Enum: []string{string(rondo.DefinitionDraft), string(rondo.DefinitionActive), string(rondo.DefinitionArchived)}},
		Param{Name: "kind", Doc: "Of this kind only", Enum: []string{string(rondo.KindCase), string(rondo.KindConversation), string(rondo.KindRun)}},
		Param{Name: "name", Doc: "With exactly this name only", Format: "text"},
	), paging()...)
}

func instanceFilters() []Param {
	return append(append(orgOnly(),
		Param{Name: "case_id", Doc: "Of this case only"},
		Param{Name: "product_id", Doc: "Of this product only"},
		Param{Name: "status", Doc: "In this state only", Enum: []string{string(rondo.StatusRunning), string(rondo.StatusHalted), string(rondo.StatusCompleted), string(rondo.StatusCancelled)}},
		Param{Name: "mode", Doc: "In this mode only", Enum: []string{string(rondo.ModeActive), string(rondo.ModeClientDriven)}},
		Param{Name: "definition_id", Doc: "Of this definition only", Format: "uuid"},
		Param{Name: "reason_code", Doc: "Halted for this reason only"},
		Param{Name: "step_id", Doc: "With this step in flight only"},
		Param{Name: "started_from", Doc: "Started at this time or later", Format: "date-time"},
		Param{Name: "started_to", Doc: "Started before this time", Format: "date-time"},
		Param{Name: "older_than", Doc: "Started longer ago than this, such as 90m, 48h or 3d", Format: "age"},
		Param{Name: "younger_than", Doc: "Started no longer ago than this", Format: "age"},
		Param{Name: "tag", Doc: "With this tag in case.metadata.tags only"},
		Param{Name: "where", Doc: "Up to three tests of searchable context values, separated by commas: path op value, op being = != < <= > or >=, such as ai_review.confidence<0.7,case.metadata.region=eu", Format: "tests"},
	), paging()...)
}

// readQuery parses a query string and checks every parameter against the row:
// unknown, repeated and malformed ones are refused, all of them at once.
func readQuery(raw string, params []Param) (url.Values, *rondo.Error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, rondo.Invalid("the query string is not well-formed")
	}
	var fields []rondo.FieldError
	wrong := func(name, code, message string) {
		fields = append(fields, rondo.FieldError{Code: code, Pointer: "query/" + name, Message: message})
	}
	for _, param := range params {
		got, there := values[param.Name]
		switch {
		case !there:
		case len(got) > 1:
			wrong(param.Name, "repeated", "give it once")
		default:
			if code, message := param.check(got[0]); code != "" {
				wrong(param.Name, code, message)
			}
		}
	}
	for name := range values {
		if !slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
			// The name itself is not echoed: it is whatever the caller wrote.
			fields = append(fields, rondo.FieldError{Code: "unknown_parameter", Pointer: "query", Message: "leave out what this route does not know; it knows " + known(params)})
			break
		}
	}
	if len(fields) > 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "the query string is not accepted", Hint: "correct what errors lists", Fields: fields}
	}
	return values, nil
}

func known(params []Param) string {
	if len(params) == 0 {
		return "none"
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// check returns a code and a message when the value does not fit.
func (p Param) check(value string) (code, message string) {
	if len(p.Enum) > 0 {
		if !slices.Contains(p.Enum, value) {
			return "unknown_value", "use one of " + strings.Join(p.Enum, ", ")
		}
		return "", ""
	}
	switch p.Format {
	case "integer":
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxLimit {
			return "out_of_range", fmt.Sprintf("use a whole number from 1 to %d", maxLimit)
		}
	case "uuid":
		if _, err := rondo.ParseID(value); err != nil {
			return "not_a_uuid", "use a UUID"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339Nano, value); err != nil {
			return "not_a_time", "use an RFC 3339 time such as 2026-01-31T12:00:00Z"
		}
	case "text":
		if value == "" || len(value) > maxText || !storable(value) {
			return "not_text", "use text without NUL, at most 4096 bytes"
		}
	case "age":
		if _, ok := parseAge(value); !ok {
			return "not_an_age", "use a whole number and a unit, such as 90m, 48h or 3d"
		}
	case "tests":
		if _, err := parseTests(value); err != nil {
			return "not_a_test", err.Error()
		}
	case "list":
		if !typeList(value) {
			return "not_a_list", "use up to 64 event types, joined by commas"
		}
	case "group":
		if !groupName(value) {
			return "not_a_group", groupRule
		}
	case "digest":
		if !hexDigest(value) {
			return "not_a_digest", "use 64 hexadecimal digits in lower case"
		}
	case "cursor": // the list that it belongs to reads it
	default:
		if !identifier(value) {
			return "not_an_identifier", "use " + identifierRule
		}
	}
	return "", ""
}

// identifier reports whether s can be an id that comes from outside.
func identifier(s string) bool {
	return s != "" && len(s) <= maxIdentifier && storable(s)
}

// storable reports whether every database can keep the text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// The readers below take values that readQuery has accepted; absent is zero.

func queryID(q url.Values, name string) rondo.ID {
	id, _ := rondo.ParseID(q.Get(name))
	return id
}

func queryTime(q url.Values, name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, q.Get(name))
	return t.UTC()
}

// queryPage reads limit and cursor. It asks for one row more than is shown, to
// learn whether there is a next page.
func queryPage(q url.Values, list byte) (store.Page, error) {
	page := store.Page{Limit: queryLimit(q) + 1}
	if q.Has("cursor") {
		after, ok := parseCursor(list, q.Get("cursor"))
		if !ok {
			return store.Page{}, notOfThisList()
		}
		page.After = after
	}
	return page, nil
}

// queryLimit is how many items a page shows.
func queryLimit(q url.Values) int {
	if !q.Has("limit") {
		return defaultLimit
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	return limit
}

func notOfThisList() *rondo.Error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: "the cursor is not of this list", Hint: "take next_cursor of the page before, or leave the cursor out",
		Fields: []rondo.FieldError{{Code: "unknown_cursor", Pointer: "query/cursor", Message: "use next_cursor of the page before"}},
	}
}
