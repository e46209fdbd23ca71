package runs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/skill"
)

func TestAStepBetweenAttemptsIsPending(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a", more: map[string]any{"retry": map[string]any{"max_attempts": 2, "backoff": "60s"}}})
		h.craft.let("a", func(context.Context, skill.Call) (skill.Result, error) { return skill.Result{}, errors.New("no") })
		s := h.open()
		id := begin(t, s, "w", 1).ID
		time.Sleep(10 * time.Second)
		steps, err := s.Steps(t.Context(), bob, id, rondo.RunStepPending)
		if err != nil || len(steps) != 1 || steps[0].Attempt != 1 || steps[0].Error == nil || steps[0].RetryAt.IsZero() {
			t.Errorf("steps that are pending: %+v, %v", steps, err)
		}
		view, err := s.Run(t.Context(), bob, id)
		if err != nil || view.Summary.Pending != 1 || view.Summary.Failed != 0 {
			t.Errorf("counts %+v, %v", view.Summary, err)
		}
		out, err := s.StepOutput(t.Context(), bob, id, "a")
		if err != nil || out.Step.Status != rondo.RunStepPending || out.Attempts[0].Status != rondo.RunStepFailed {
			t.Errorf("output %+v, %v", out, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		told := rondo.RunStepStatus("")
		_ = s.Watch(ctx, bob, id, 0, func(e Event) error {
			if e.Step != nil {
				told = e.Step.Status
			}
			return nil
		})
		if told != rondo.RunStepPending {
			t.Errorf("the stream says %s", told)
		}
		h.finish(id, rondo.RunFailed)
		if view, err = s.Run(t.Context(), bob, id); err != nil || view.Summary.Failed != 1 {
			t.Errorf("in the end %+v, %v", view.Summary, err)
		}
	})
}

func TestCodesAndMessagesOfSkillsAreCleaned(t *testing.T) {
	t.Parallel()
	no := false
	for code, want := range map[string]string{
		"QUOTA": "QUOTA", "a.b-c_1": "a.b-c_1", "": "SKILL_ERROR", "9": "SKILL_ERROR", "a b": "SKILL_ERROR", "x\x1b[31m": "SKILL_ERROR", strings.Repeat("x", 65): "SKILL_ERROR",
	} {
		if got := refusal(skill.Result{ErrorCode: code, Retryable: &no}); got.Code != want {
			t.Errorf("the code %q becomes %q", code, got.Code)
		}
	}
	got := refusal(skill.Result{Error: "a\x1b[31m\r\x00\u009bb\nc" + strings.Repeat("é", maxMessage)}).Message
	if strings.ContainsAny(got, "\x1b\r\x00\u009b") || !strings.Contains(got, "b\nc") || len(got) > maxMessage+len("…") {
		t.Errorf("the message has %d bytes: %q", len(got), got[:40])
	}
}

func TestWhatWorkersAnswerIsTakenAtItsWord(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "far", more: far(1)})
		bus := newSent(h)
		s := h.open(func(c *Config) { c.Store = bus })
		ask := func(n int, body string) rondo.ID {
			id := begin(t, s, "w", n).ID
			requests := bus.of(t, event.TypeRunStepRequested)
			if err := s.Deliver(t.Context(), answer(requests[len(requests)-1], event.TypeRunStepCompleted, body)); err != nil {
				t.Fatal(err)
			}
			return id
		}
		failed := h.finish(ask(1, `{"ok":false,"error":"no","error_code":"NO"}`), rondo.RunFailed)
		if failed.Error.Code != "NO" {
			t.Errorf("completed, and not ok: %+v", failed.Error)
		}
		done := h.steps(h.finish(ask(2, `{"ok":true,"data":1,"debug":{"cost":-3,"calls":2}}`), rondo.RunCompleted).ID)["far"]
		var told skill.Debug
		if err := json.Unmarshal(done.Debug, &told); err != nil || told.Cost != 0 || told.Calls != 2 {
			t.Errorf("debug %s, %v", done.Debug, err)
		}
	})
}

func TestAnInputThatNoEventCanHaveFailsTheStepAtOnce(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "g"}, node{id: "far", needs: []string{"g"}, more: far(5)})
		heavy(h, 300_000, "g")
		bus := newSent(h)
		s := h.open(func(c *Config) { c.Store = bus })
		run := h.finish(begin(t, s, "w", 1).ID, rondo.RunFailed)
		row := h.steps(run.ID)["far"]
		if row.Attempt != 0 || row.Error == nil || row.Error.Retryable || !strings.Contains(row.Error.Message, "262144") {
			t.Errorf("attempt %d: %+v", row.Attempt, row.Error)
		}
		if asked := bus.of(t, event.TypeRunStepRequested); len(asked) != 0 {
			t.Errorf("workers were asked %d times", len(asked))
		}
	})
}

func TestAnEventThatCannotBeRaisedFailsTheStepAndKeepsItsResult(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		raise := func(path string) map[string]any {
			return map[string]any{"raise": map[string]any{"event_type": "ext.big", "case_id": map[string]any{"const": "c"}, "payload": map[string]any{"step": "r", "path": path}}}
		}
		for name, test := range map[string]struct {
			path, data, says string
		}{
			"text":  {"data", `"text"`, "object"},
			"large": {"data", `{"x":"` + strings.Repeat("x", 300_000) + `"}`, "300008 bytes"},
		} {
			h.define(name, node{id: "r", more: raise(test.path)})
			h.craft.let("r", func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Result{OK: true, Data: json.RawMessage(test.data)}, nil
			})
			s := h.open()
			before := h.craft.called("r")
			for range 2 {
				run := h.finish(begin(t, s, name, 1).ID, rondo.RunFailed)
				if run.Error.Code != string(rondo.CodeInputSelector) || !strings.Contains(run.Error.Message, test.says) {
					t.Errorf("%s: %+v", name, run.Error)
				}
			}
			if n := h.craft.called("r") - before; n != 1 {
				t.Errorf("%s: computed %d times, its result was not kept", name, n)
			}
		}
	})
}
