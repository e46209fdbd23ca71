package storetest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-engine/rondo"
)

// asStored compares what was written with what came back: JSON by meaning with
// numbers as they were spelled, times as instants in UTC, and no difference
// between a nil and an empty slice or map.
var asStored = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 }, cmp.Comparer(sameJSON)),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() }),
	cmp.Transformer("id", func(id rondo.ID) string { return id.String() }),
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	decode := func(text []byte) (value any, err error) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&value)
		return value, err
	}
	left, errLeft := decode(a)
	right, errRight := decode(b)
	return errLeft == nil && errRight == nil && reflect.DeepEqual(left, right)
}

// same fails the test when what came back is not what was written.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, asStored); diff != "" {
		t.Fatalf("%s is not as expected (-want +got):\n%s", what, diff)
	}
}

// sameBytes is same for what must come back byte by byte.
func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s came back as %q, want %q", what, clip(got), clip(want))
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 400)] }
