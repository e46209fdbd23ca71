package runs

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// miser does not give the data of a whole run away.
type miser struct{ store.Runs }

func (m miser) RunSteps(ctx context.Context, run rondo.ID, after int64, withData bool) ([]rondo.RunStep, error) {
	if withData {
		return nil, errors.New("that is the data of every step")
	}
	return m.Runs.RunSteps(ctx, run, after, false)
}

func TestOneStepIsReadWithoutTheOthers(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", chain(3)...)
		s := h.open(func(c *Config) { c.Store = miser{h.runs} })
		run := h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted)
		out, err := s.StepOutput(t.Context(), bob, run.ID, "s1")
		if err != nil || len(out.Attempts) != 1 || string(out.Step.Data) != string(h.steps(run.ID)["s1"].Data) {
			t.Errorf("%+v, %v", out.Step, err)
		}
	})
}
