package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/internal/httpapi"
)

// listPage is a page of any list.
type listPage struct {
	Items []json.RawMessage `json:"items"`
	Next  *string           `json:"next_cursor"`
	Camel *string           `json:"nextCursor"` // of runs and chats
}

// Every route that lists pages: one item at a time gives what one page gives.
func TestEveryListPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	filled := 0
	for _, route := range b.Routes() {
		if !lists(route) {
			continue
		}
		path := strings.NewReplacer("/workflow-instances/{id}", instancePath, "/workflow-definitions/{id}", definitionPath, "/jobs/{id}", jobPath, "/runs/{id}", runPath, "/conversations/{id}", "/conversations/"+chatID, "{name}", "weigh").Replace(route.Path)
		query := url.Values{}
		if route.ID == "search-events" {
			query.Set("outcome", "parked")
		}
		read := func(limit, cursor string) (listPage, int) {
			query := url.Values{"limit": {limit}, "outcome": query["outcome"]}
			if query["outcome"] == nil {
				query.Del("outcome")
			}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			rec := b.do("GET", path+"?"+query.Encode(), "")
			var got listPage
			if rec.Code == http.StatusOK {
				if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				if got.Next == nil {
					got.Next = got.Camel
				}
			}
			return got, rec.Code
		}
		all, status := read("200", "")
		if status != http.StatusOK || all.Next != nil {
			t.Errorf("%s: one page answers %d, cursor %v", route.ID, status, all.Next)
			continue
		}
		if _, status := read("1", "Pz8_"); status != http.StatusBadRequest {
			t.Errorf("%s: a cursor of no list answers %d", route.ID, status)
		}
		if _, status := read("201", ""); status != http.StatusBadRequest {
			t.Errorf("%s: a limit of 201 answers %d", route.ID, status)
		}
		if !slices.Contains(cutAtTheEdge, route.ID) {
			continue // the store pages it: the engine of this test does not
		}
		var one []json.RawMessage
		for cursor := ""; ; {
			got, status := read("1", cursor)
			if one = append(one, got.Items...); status != http.StatusOK || got.Next == nil || len(one) > len(all.Items) {
				break
			}
			cursor = *got.Next
		}
		if diff := cmp.Diff(texts(all.Items), texts(one)); diff != "" {
			t.Errorf("%s, one by one (-whole +paged):\n%s", route.ID, diff)
		}
		if len(all.Items) > 1 {
			filled++
		}
	}
	if filled < 3 {
		t.Errorf("only %d lists have more than one item: the test says little", filled)
	}
}

// cutAtTheEdge are the lists that are read whole and paged here.
var cutAtTheEdge = []string{
	"list-reason-codes", "list-step-kinds", "get-step-kind", "list-templates", "list-steps", "list-interventions",
	"list-revisions", "list-event-schemas", "list-groups", "list-retention-policies", "list-run-artifacts", "list-workflows",
}

func lists(route httpapi.Route) bool {
	return route.Method == http.MethodGet && (strings.HasPrefix(route.ID, "list-") || route.ID == "get-step-kind" || route.ID == "search-events")
}

func texts(items []json.RawMessage) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, string(item))
	}
	return out
}

// Over the lists of a real engine the pages are whole too, with the default size.
func TestTheCatalogueIsPagedToItsEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, path := range []string{"/reason-codes", "/step-kinds", "/workflow-templates", "/events/schemas"} {
		whole := d.ask("acme", "GET", path+"?limit=200", "", 200, "")["items"].([]any)
		var seen []any
		for cursor := ""; ; {
			got := d.ask("acme", "GET", path+"?limit=3"+cursor, "", 200, "")
			seen = append(seen, got["items"].([]any)...)
			next, more := got["next_cursor"].(string)
			if !more || len(seen) > len(whole) {
				break
			}
			cursor = "&cursor=" + next
		}
		if diff := cmp.Diff(whole, seen); diff != "" || len(whole) < 4 {
			t.Errorf("%s has %d items; by threes (-want +got):\n%s", path, len(whole), diff)
		}
	}
}
