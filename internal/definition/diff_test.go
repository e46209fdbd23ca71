package definition

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

func TestDiffSaysInWordsWhatChanged(t *testing.T) {
	golden(t, "testdata/diff", "changes", func(t *testing.T, a *txtar.Archive) string {
		before, after := mustPlain(t, part(a, "before.yaml")), mustPlain(t, part(a, "after.yaml"))
		difference, err := Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, change := range difference.Changes() {
			fmt.Fprintf(&b, "%s: %s\n", change.Pointer, change.Message)
		}
		same, err := Diff(after, after)
		if err != nil || len(same.Changes()) != 0 || string(same.Patch) != "[]" {
			t.Errorf("a definition differs from itself: %v %s %v", same.Changes(), same.Patch, err)
		}
		return b.String() + "\n" + strings.ReplaceAll(string(difference.Patch), "},{", "},\n{") + "\n"
	})
}

// Runs have thousands of steps: four times as many take four times the work.
func TestTellingTheChangesOfALongRunTakesWorkInProportion(t *testing.T) {
	run := func(steps int, timeout string) json.RawMessage {
		var b strings.Builder
		for i := range steps {
			fmt.Fprintf(&b, `,{"id":"s%d","skill":"a.b@1","timeout":%q}`, i, timeout)
		}
		return json.RawMessage(`{"steps":[` + b.String()[1:] + `]}`)
	}
	allocated := func(steps int) uint64 {
		difference, err := Diff(run(steps, "5m"), run(steps, "6m"))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		changes := difference.Changes()
		runtime.ReadMemStats(&after)
		if len(changes) != steps || changes[steps-1].Pointer == "/steps" {
			t.Fatalf("%d changes of %d steps, the last at %s", len(changes), steps, changes[len(changes)-1].Pointer)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := allocated(1000), allocated(4000); large > 8*small {
		t.Errorf("1000 changes take %d bytes, 4000 take %d", small, large)
	}
}

func TestDiffNeedsObjects(t *testing.T) {
	for _, body := range []string{`[]`, `{`, `{} {}`, ``} {
		if _, err := Diff(json.RawMessage(body), json.RawMessage(`{}`)); err == nil {
			t.Errorf("%q is compared", body)
		}
		if _, err := Diff(json.RawMessage(`{}`), json.RawMessage(body)); err == nil {
			t.Errorf("%q is compared", body)
		}
	}
}

func mustPlain(t *testing.T, src []byte) json.RawMessage {
	t.Helper()
	body, err := plainJSON(src)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestPatchTurnsOneDocumentIntoTheOther(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return randomJSON(3) })
	rapid.Check(t, func(t *rapid.T) {
		before, after := value.Draw(t, "before"), value.Draw(t, "after")
		a, b := mustMarshal(t, before), mustMarshal(t, after)
		patch, err := JSONPatch(a, b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := JSONPatch(a, b)
		if err != nil || string(again) != string(patch) {
			t.Fatalf("the same documents give %s and %s", patch, again)
		}
		var ops []struct {
			Op, Path string
			Value    json.RawMessage
		}
		if err := json.Unmarshal(patch, &ops); err != nil {
			t.Fatal(err)
		}
		got := mustDecode(t, a)
		for _, op := range ops {
			var with any
			if op.Op != "remove" {
				with = mustDecode(t, op.Value)
			}
			got = applyOp(t, got, strings.Split(op.Path, "/")[1:], op.Op, with)
		}
		if diff := cmp.Diff(mustDecode(t, b), got); diff != "" {
			t.Fatalf("%s with %s is not %s:\n%s", a, patch, b, diff)
		}
	})
}

func randomJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]any{nil, true, false, "", "a", "b/~c"}), rapid.Map(rapid.IntRange(0, 3), func(n int) any { return float64(n) }),
	)
	if depth == 0 {
		return leaf
	}
	inner := randomJSON(depth - 1)
	return rapid.OneOf(
		leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(items []any) any { return items }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c/d", "e~f", "0"}), inner, 0, 4), func(m map[string]any) any { return m }),
	)
}

func mustMarshal(t fataler, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return raw
}

func mustDecode(t fataler, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v", err)
	}
	return v
}

// applyOp does one operation of a JSON Patch as RFC 6902 says.
func applyOp(t fataler, doc any, tokens []string, op string, value any) any {
	t.Helper()
	if len(tokens) == 0 {
		return value
	}
	token := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[0])
	switch doc := doc.(type) {
	case map[string]any:
		_, there := doc[token]
		if there == (op == "add") && len(tokens) == 1 || !there && len(tokens) > 1 {
			t.Fatalf("%s %q: there is %v", op, token, there)
		}
		if op == "remove" && len(tokens) == 1 {
			delete(doc, token)
		} else {
			doc[token] = applyOp(t, doc[token], tokens[1:], op, value)
		}
		return doc
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i > len(doc) || i == len(doc) && (op != "add" || len(tokens) > 1) {
			t.Fatalf("%s: there is no place %q among %d", op, token, len(doc))
		}
		switch {
		case len(tokens) > 1 || op == "replace":
			doc[i] = applyOp(t, doc[i], tokens[1:], op, value)
		case op == "add":
			doc = slices.Insert(doc, i, value)
		default:
			doc = slices.Delete(doc, i, i+1)
		}
		return doc
	}
	t.Fatalf("%s: %q leads into no object or array", op, token)
	return nil
}
