package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/store"
)

// maxTests is how many context values one list can be searched by.
const maxTests = 3

// instanceFilter reads the list filters of a query that the guard has accepted.
// Ages count back from now.
func instanceFilter(q url.Values, org string, now time.Time) store.InstanceFilter {
	f := store.InstanceFilter{
		OrgID:        org,
		CaseID:       q.Get("case_id"),
		ProductID:    q.Get("product_id"),
		Status:       rondo.Status(q.Get("status")),
		Mode:         rondo.Mode(q.Get("mode")),
		DefinitionID: queryID(q, "definition_id"),
		ReasonCode:   q.Get("reason_code"),
		StepID:       q.Get("step_id"),
		StartedFrom:  queryTime(q, "started_from"),
		StartedTo:    queryTime(q, "started_to"),
		Tag:          q.Get("tag"),
	}
	now = now.UTC().Truncate(time.Microsecond)
	if age, ok := parseAge(q.Get("older_than")); ok {
		if at := now.Add(-age); f.StartedTo.IsZero() || at.Before(f.StartedTo) {
			f.StartedTo = at
		}
	}
	if age, ok := parseAge(q.Get("younger_than")); ok {
		if at := now.Add(-age); at.After(f.StartedFrom) {
			f.StartedFrom = at
		}
	}
	f.Where, _ = parseTests(q.Get("where"))
	return f
}

var ageForm = regexp.MustCompile(`^([1-9][0-9]{0,5})([smhdw])$`)

// parseAge reads 30s, 90m, 48h, 3d or 2w.
func parseAge(s string) (time.Duration, bool) {
	parts := ageForm.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	n, _ := strconv.Atoi(parts[1])
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[parts[2]]
	return time.Duration(n) * unit, time.Duration(n) <= maxAge/unit
}

// maxAge keeps ages within what a time can count back.
const maxAge = 100 * 365 * 24 * time.Hour

var (
	testForm = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*$`)
	errTests = fmt.Errorf("use at most %d tests such as ai_review.confidence<0.7, separated by commas", maxTests)
)

// parseTests reads tests of searchable values: a path, an operator, and a number,
// true, false, a JSON string, or a bare word. A comma within a JSON string does
// not separate.
func parseTests(s string) ([]store.AttributeTest, error) {
	if s == "" {
		return nil, nil
	}
	var out []store.AttributeTest
	for _, part := range splitTests(s) {
		match := testForm.FindStringSubmatch(part)
		if match == nil || len(out) == maxTests {
			return nil, errTests
		}
		value, err := parseOperand(match[3])
		if err != nil {
			return nil, err
		}
		out = append(out, store.AttributeTest{Path: match[1], Op: match[2], Value: value})
	}
	return out, nil
}

// splitTests cuts at commas outside of JSON strings.
func splitTests(s string) []string {
	var parts []string
	from, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

// parseOperand reads the value of a test: JSON where it is JSON, else the text
// as it is.
func parseOperand(s string) (rondo.AttributeValue, error) {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		v = s
	}
	switch v := v.(type) {
	case float64:
		canonical, err := canon.JSON([]byte(s))
		if err != nil {
			return rondo.AttributeValue{}, errTests
		}
		return rondo.AttributeValue{Text: string(canonical), Number: v, IsNumber: true}, nil
	case bool:
		return rondo.AttributeValue{Text: strconv.FormatBool(v)}, nil
	case string:
		switch {
		case v == "":
			return rondo.AttributeValue{}, errors.New("give a value to compare with; an empty text is written \"\" and is not searchable")
		case len(v) > rondo.MaxAttributeBytes || !storable(v) || strings.ContainsAny(s, "\r\n"):
			return rondo.AttributeValue{}, fmt.Errorf("compare with a text of at most %d bytes", rondo.MaxAttributeBytes)
		}
		return rondo.AttributeValue{Text: v}, nil
	}
	return rondo.AttributeValue{}, errors.New("compare with a number, true, false or a text")
}
