package runs

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// reads answers with the bytes of the artifact that the input has as page, or with
// the code of why it has none.
func reads(ctx context.Context, call skill.Call) (skill.Result, error) {
	var input struct {
		Page struct{ Hash, URI string }
	}
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return skill.Result{}, err
	}
	content, size, err := call.Blobs.Open(ctx, input.Page.Hash)
	if err != nil {
		return skill.Result{OK: true, Data: json.RawMessage(`"` + string(rondo.CodeOf(err)) + `"`)}, nil
	}
	defer content.Close()
	all, err := io.ReadAll(content)
	if err != nil {
		return skill.Result{}, err
	}
	data, err := json.Marshal([]any{string(all), size, input.Page.URI})
	return skill.Result{OK: true, Data: data}, err
}

func TestAStepOpensWhatItsInputSelectsAndNothingElse(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		const hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
		page := func(word string) map[string]any { return map[string]any{word: "file", "path": "artifacts[0]"} }
		n := map[string]any{"trigger": "n"}
		input := func(page any) map[string]any { return map[string]any{"input": map[string]any{"n": n, "page": page}} }
		named := map[string]any{"const": map[string]any{"hash": hash}}
		w := h.define(
			"w",
			node{id: "file", more: map[string]any{"input": map[string]any{}}},
			node{id: "reader", needs: []string{"file"}, more: input(page("step"))},
			node{id: "merger", needs: []string{"file"}, more: input(map[string]any{"merge": []any{page("step"), named}})},
			node{id: "successor", needs: []string{"file"}, more: input(page("base"))},
			node{id: "stranger", needs: []string{"file"}, more: input(named)},
		)
		h.craft.let("file", func(context.Context, skill.Call) (skill.Result, error) {
			return skill.Result{OK: true, Artifacts: []skill.Artifact{{Type: "text/plain", Bytes: []byte("hello")}}}, nil
		})
		for _, step := range []string{"reader", "merger", "successor", "stranger"} {
			h.craft.let(step, reads)
		}
		const opened, refused = `["hello",5,"blob:` + hash + `"]`, `"not_found"`
		check := func(id rondo.ID, want map[string]string) {
			t.Helper()
			rows := h.steps(id)
			for step, data := range want {
				if got := string(rows[step].Data); got != data {
					t.Errorf("%s gives %s, want %s", step, got, data)
				}
			}
		}
		s := h.open()
		first := h.finish(begin(t, s, w.Name, 1).ID, rondo.RunCompleted)
		check(first.ID, map[string]string{"reader": opened, "merger": opened, "successor": refused, "stranger": refused})

		// A file that is taken from the cache is read like one that was just made.
		again := h.finish(begin(t, s, w.Name, 2).ID, rondo.RunCompleted)
		if row := h.steps(again.ID)["file"]; row.Status != rondo.RunStepSkipped {
			t.Errorf("file is %s", row.Status)
		}
		check(again.ID, map[string]string{"reader": opened, "stranger": refused})

		update, err := s.Update(t.Context(), bob, UpdateRequest{BaseRunID: first.ID, Options: rondo.RunOptions{ChangedSteps: []string{"successor"}}})
		if err != nil {
			t.Fatal(err)
		}
		check(h.finish(update.ID, rondo.RunCompleted).ID, map[string]string{"successor": opened})
	})
}
