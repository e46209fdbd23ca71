package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/worker/steps"
)

// line is a bus with one consumer: what is offered is delivered once, what is
// published is collected.
type line struct {
	offered   chan bus.Delivery
	published chan *event.Envelope
	acked     chan string
	wait      time.Duration
}

func newLine() *line {
	return &line{offered: make(chan bus.Delivery, 64), published: make(chan *event.Envelope, 64), acked: make(chan string, 64)}
}

func (l *line) Publish(_ context.Context, messages []bus.Message) error {
	for _, m := range messages {
		e, err := event.Parse(m.Envelope)
		if err != nil || m.Stream != e.Type || m.EventID != e.EventID {
			return errors.Join(errors.New("not an answer"), err)
		}
		l.published <- e
	}
	return nil
}

func (l *line) Subscribe(_ context.Context, sub bus.Subscription) (bus.Consumer, error) {
	l.wait = sub.AckWait
	return l, nil
}
func (l *line) Check(context.Context) error { return nil }
func (l *line) Close() error                { return nil }

func (l *line) Fetch(ctx context.Context, _ int) ([]bus.Delivery, error) {
	select {
	case d := <-l.offered:
		return []bus.Delivery{d}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *line) Ack(_ context.Context, deliveries []bus.Delivery) error {
	for _, d := range deliveries {
		l.acked <- d.EntryID
	}
	return nil
}

var (
	eventID = rondo.ID{1, 6: 0x70, 8: 0x80}
	runID   = rondo.ID{2, 6: 0x70, 8: 0x80}
)

// request is what Rondo asks for.
func request(name, input string, deadline time.Time) *event.Envelope {
	payload, _ := json.Marshal(map[string]any{
		"run_id": runID, "step_id": "draw", "attempt": 2, "skill": name, "input": json.RawMessage(input), "deadline": deadline,
	})
	return &event.Envelope{
		EventID: eventID, Type: event.TypeRunStepRequested, SchemaVersion: event.SchemaVersion, OccurredAt: deadline.Add(-time.Minute),
		CorrelationID: "attempt-1", OrgID: "acme", RunID: runID.String(), Payload: payload,
	}
}

func (l *line) offer(entry string, e *event.Envelope) {
	l.offered <- bus.Delivery{Stream: e.Type, EntryID: entry, Envelope: e.Encode(), Attempt: 1}
}

// with runs a worker of one skill inside a bubble of fake time.
func with(t *testing.T, do skill.Func, test func(t *testing.T, l *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		w := steps.New(steps.Config{Group: "painters", Bus: l, Skills: map[string]skill.Skill{"draw@1": do}})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, l)
		synctest.Wait()
		if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

func TestAStepIsDoneAndAnswered(t *testing.T) {
	t.Parallel()
	calls := make(chan skill.Call, 1)
	with(t, func(ctx context.Context, call skill.Call) (skill.Result, error) {
		calls <- call
		if end, ok := ctx.Deadline(); !ok || !end.Equal(call.Deadline) {
			t.Errorf("the context ends at %v, want %v", end, call.Deadline)
		}
		hash, size, err := call.Blobs.Put(ctx, strings.NewReader("<svg/>"))
		return skill.Result{
			OK: true, Data: json.RawMessage(`{"width": 5}`), Debug: &skill.Debug{Tokens: 3},
			Artifacts: []skill.Artifact{{Type: "image/svg+xml", Name: "a.svg", Hash: hash, Size: size}, {Type: "a/b", URI: "https://example.org/big"}},
		}, err
	}, func(t *testing.T, l *line) {
		deadline := time.Now().Add(time.Minute).UTC()
		l.offer("1", request("draw@1", `{"colour":"red"}`, deadline))
		answer := <-l.published
		call := <-calls
		if call.RunID != runID || call.StepID != "draw" || call.Attempt != 2 || call.Skill != "draw@1" || string(call.Input) != `{"colour":"red"}` {
			t.Errorf("the call is %+v", call)
		}
		if answer.Type != event.TypeRunStepCompleted || answer.CorrelationID != "attempt-1" || answer.RunID != runID.String() || answer.OrgID != "acme" ||
			answer.CausationID != eventID.String() || answer.EventID != event.DerivedID(eventID, event.TypeRunStepCompleted) {
			t.Errorf("the answer is %+v", answer)
		}
		want := `{"data":{"width":5},"artifacts":[{"type":"image/svg+xml","name":"a.svg","bytes":"PHN2Zy8+"},{"type":"a/b","uri":"https://example.org/big"}],"debug":{"tokens":3}}`
		if diff := cmp.Diff(want, string(answer.Payload)); diff != "" {
			t.Errorf("payload (-want +got):\n%s", diff)
		}
		if got := <-l.acked; got != "1" {
			t.Errorf("acked is %s", got)
		}
		if l.wait != time.Hour+time.Minute {
			t.Errorf("a request comes again after %s", l.wait)
		}
		// The same once more is answered from memory.
		l.offer("2", request("draw@1", `{"colour":"red"}`, deadline))
		again := <-l.published
		if diff := cmp.Diff(answer, again); diff != "" || len(calls) != 0 {
			t.Errorf("the second answer is another one, after %d calls:\n%s", len(calls), diff)
		}
		<-l.acked
	})
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	no := false
	for name, test := range map[string]struct {
		do   skill.Func
		want string
	}{
		"a result that is not ok": {
			func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Fail("NO_PAINT", "there is no paint", false), nil
			},
			`{"error_code":"NO_PAINT","error":"there is no paint","retryable":false}`,
		},
		"one that says nothing": {
			func(context.Context, skill.Call) (skill.Result, error) { return skill.Result{Retryable: &no}, nil },
			`{"error_code":"SKILL_ERROR","error":"the skill failed and does not say why","retryable":false}`,
		},
		"an error": {
			func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Result{}, errors.New("the brush broke")
			},
			`{"error_code":"SKILL_ERROR","error":"the brush broke","retryable":true}`,
		},
		"a panic": {
			func(context.Context, skill.Call) (skill.Result, error) { panic("CANARY") },
			`{"error_code":"SKILL_ERROR","error":"the skill panicked","retryable":true}`,
		},
		"data that is no JSON": {
			func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Result{OK: true, Data: json.RawMessage(`{`)}, nil
			},
			`{"error_code":"SKILL_ERROR","error":"the answer does not encode as JSON","retryable":false}`,
		},
		"a number that nobody can read": {
			func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Result{OK: true, Data: json.RawMessage(`90071992547409931`)}, nil
			},
			`{"error_code":"SKILL_ERROR","error":"the answer has what Rondo does not take in: a number beyond 2^53, a member twice, or nesting too deep","retryable":false}`,
		},
		"too much": {
			func(context.Context, skill.Call) (skill.Result, error) {
				return skill.Result{OK: true, Data: json.RawMessage(`"` + strings.Repeat("x", 300<<10) + `"`)}, nil
			},
			`{"error_code":"SKILL_ERROR","error":"the answer has 307211 bytes, more than 204800: store large results elsewhere and name their uri","retryable":false}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, test.do, func(t *testing.T, l *line) {
				l.offer("1", request("draw@1", `{}`, time.Now().Add(time.Minute)))
				answer := <-l.published
				if answer.Type != event.TypeRunStepFailed || answer.CorrelationID != "attempt-1" {
					t.Errorf("the answer is %+v", answer)
				}
				if diff := cmp.Diff(test.want, string(answer.Payload)); diff != "" {
					t.Errorf("payload (-want +got):\n%s", diff)
				}
				<-l.acked
			})
		})
	}
}

func TestBigArtifactsBelongElsewhere(t *testing.T) {
	t.Parallel()
	with(t, func(ctx context.Context, call skill.Call) (skill.Result, error) {
		_, _, err := call.Blobs.Put(ctx, strings.NewReader(strings.Repeat("x", 129<<10)))
		if rondo.CodeOf(err) != rondo.CodeTooLarge {
			t.Errorf("%v, want too large", err)
		}
		return skill.Result{}, err
	}, func(t *testing.T, l *line) {
		l.offer("1", request("draw@1", `{}`, time.Now().Add(time.Minute)))
		if answer := <-l.published; answer.Type != event.TypeRunStepFailed {
			t.Errorf("the answer is %+v", answer)
		}
		<-l.acked
	})
}

func TestWhatNobodyWaitsForIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, offer := range map[string]func() *event.Envelope{
		"another skill":       func() *event.Envelope { return request("sing@1", `{}`, time.Now().Add(time.Minute)) },
		"a passed deadline":   func() *event.Envelope { return request("draw@1", `{}`, time.Now()) },
		"a deadline under it": func() *event.Envelope { return request("draw@1", `{"slow":true}`, time.Now().Add(time.Second)) },
		"an unreadable one": func() *event.Envelope {
			e := request("draw@1", `{}`, time.Now())
			e.Payload = json.RawMessage(`{"attempt":"two"}`)
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, func(ctx context.Context, call skill.Call) (skill.Result, error) {
				if string(call.Input) != `{"slow":true}` {
					t.Error("the skill is called")
				}
				<-ctx.Done()
				return skill.Result{OK: true}, nil
			}, func(t *testing.T, l *line) {
				l.offer("1", offer())
				<-l.acked
				if len(l.published) != 0 {
					t.Errorf("it is answered with %+v", <-l.published)
				}
			})
		})
	}
}
