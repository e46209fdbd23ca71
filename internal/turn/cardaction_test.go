package turn

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rondo-engine/rondo"
)

func TestCardActionsAreAllowedByList(t *testing.T) {
	domains := []string{"Example.org", "", ".trusted.example"}
	open := func(url string) string { return `{"action":"Action.OpenUrl","url":"` + url + `"}` }
	for _, test := range []struct{ submit, want string }{
		{`{"action":"Action.Submit"}`, ""},
		{`{}`, "Missing action type"},
		{`{"action":null}`, "Missing action type"},
		{`{"action":""}`, "Missing action type"},
		{`[]`, "Missing action type"},
		{``, "Missing action type"},
		{`{"action":5}`, "Action type must be a string"},
		{`{"action":{"type":"Action.Submit"}}`, "Action type must be a string"},
		{`{"action":"Action.Execute"}`, "Action type not allowed"},
		{`{"action":"action.submit"}`, "Action type not allowed"},
		{`{"action":"Action.OpenUrl"}`, "Missing URL"},
		{`{"action":"Action.OpenUrl","url":5}`, "Missing URL"},
		{open("https://example.org"), ""},
		{open("https://EXAMPLE.org.:8443/a?b#c"), ""},
		{open("https://sub.example.org/x"), ""},
		{open("https://a.b.trusted.example"), ""},
		{open("http://example.org"), "URL must use https"},
		{open("javascript:alert(1)"), "Invalid URL"},
		{open("//example.org"), "URL must use https"},
		{open("https:example.org"), "Invalid URL"},
		{open("https:///example.org"), "Invalid URL"},
		{open("https://notexample.org"), "URL domain not allowed"},
		{open("https://example.org.evil.test"), "URL domain not allowed"},
		{open("https://evil.test/example.org"), "URL domain not allowed"},
		{open("https://example.org@evil.test"), "Invalid URL"},
		{open(`https://evil.test\\@example.org`), "Invalid URL"},
		{open(`https://example.org\t.evil.test`), "Invalid URL"},
		{open("https://[::1]/"), "URL domain not allowed"},
	} {
		err := CheckCardAction(json.RawMessage(test.submit), nil, domains)
		message := ""
		if refusal, ok := errors.AsType[*rondo.Error](err); ok {
			message = refusal.Message
		}
		if message != test.want || err != nil && rondo.CodeOf(err) != rondo.CodeCardRefused {
			t.Errorf("%s: %v, want %q", test.submit, err, test.want)
		}
	}
	if err := CheckCardAction(json.RawMessage(`{"action":"Action.Submit"}`), []string{"Other"}, nil); err == nil {
		t.Error("an action that is not on the configured list is allowed")
	}
	if err := CheckCardAction(json.RawMessage(open("https://example.org")), nil, nil); err == nil {
		t.Error("without domains, addresses are opened")
	}
}
