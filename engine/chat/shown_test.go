package chat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

func TestAMessageHasTheIDThatItsPiecesWereShownBy(t *testing.T) {
	t.Parallel()
	pieces := []agent.Delta{{ID: "a", Text: "one "}, {ID: "b", Text: "two"}, {ID: "a", Text: "more"}}
	for name, test := range map[string]struct {
		activities []rondo.Activity
		want       []string
	}{
		"by the agent's id":        {[]rondo.Activity{{ID: "b", Text: "two, with a source"}, {ID: "a", Text: "one more"}}, []string{"id-2", "id-1"}},
		"by the text":              {[]rondo.Activity{{ID: "x", Text: "one more"}, {Text: "two"}}, []string{"id-1", "id-2"}},
		"each but once":            {[]rondo.Activity{{ID: "a", Text: "one more"}, {ID: "a", Text: "one more"}}, []string{"id-1", ""}},
		"what was not shown":       {[]rondo.Activity{{ID: "c", Text: "three"}}, []string{""}},
		"an id goes before a text": {[]rondo.Activity{{ID: "b", Text: "one more"}}, []string{"id-2"}},
	} {
		made := 0
		shown := &shownTexts{newID: func() string { made++; return fmt.Sprintf("id-%d", made) }}
		for _, p := range pieces {
			if got := shown.piece(&p); got.Text != p.Text || got.ID == p.ID {
				t.Fatalf("%s: the piece %+v is shown as %+v", name, p, *got)
			}
		}
		var got []string
		for _, a := range test.activities {
			got = append(got, shown.claim(a))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
