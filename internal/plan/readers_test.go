package plan

import (
	"maps"
	"slices"
	"testing"
)

func TestWhoReadsWhat(t *testing.T) {
	t.Parallel()
	w, err := Compile([]byte(`{"name":"w","version":"1.0.0","skills":{"s@1":{"type":"template","config":{"template":"x"}}},"steps":[
		{"id":"a","skill":"s@1"},{"id":"b","skill":"s@1","depends_on":["a"]},
		{"id":"c","skill":"s@1","depends_on":["b"],"input":{"x":{"pick":{"from":{"merge":[{"step":"a"},{"base":"old"}]},"keys":["k"]}}},
		 "raise":{"event_type":"ext.x","case_id":{"step":"b","path":"data"},"payload":{"merge":[{"step":"c"},{"step":"a"},{"base":"older"}]}}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if reads := w.Reads(2); !slices.Equal(slices.Sorted(slices.Values(reads)), []int{0, 1}) || len(w.Reads(1)) != 0 {
		t.Errorf("c reads %v, b reads %v", reads, w.Reads(1))
	}
	if of := slices.Sorted(maps.Keys(w.ReadsOfBase())); !slices.Equal(of, []string{"old", "older"}) {
		t.Errorf("of the base %v", of)
	}
}
