package httpapi

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page goes on after the last item shown, wherever that is now; when it is gone,
// after as many as were shown.
func TestACursorOutlivesChangesOfItsList(t *testing.T) {
	t.Parallel()
	self := func(s string) string { return s }
	first, err := pageOf(url.Values{"limit": {"2"}}, listCodes, []string{"a", "b", "c", "d"}, self)
	if err != nil || first.NextCursor == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	for name, test := range map[string]struct{ now, want []string }{
		"as it was":             {[]string{"a", "b", "c", "d"}, []string{"c", "d"}},
		"one came before":       {[]string{"a", "aa", "b", "c", "d"}, []string{"c", "d"}},
		"the last shown went":   {[]string{"a", "c", "d"}, []string{"d"}},
		"one before it went":    {[]string{"b", "c", "d"}, []string{"c", "d"}},
		"everything after went": {[]string{"a", "b"}, []string{}},
		"everything went":       {nil, []string{}},
	} {
		got, err := pageOf(url.Values{"limit": {"2"}, "cursor": {*first.NextCursor}}, listCodes, test.now, self)
		if diff := cmp.Diff(test.want, got.Items); diff != "" || err != nil || got.NextCursor != nil {
			t.Errorf("%s: %v, cursor %v (-want +got):\n%s", name, err, got.NextCursor, diff)
		}
	}
	if _, err := pageOf(url.Values{"cursor": {*first.NextCursor}}, listKinds, []string{"a"}, self); err == nil {
		t.Error("another list took the cursor")
	}
}
