package memory_test

import (
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// Drivers may let the mistakes of a caller pass that the specification refuses:
// the simulation finds them here.
func TestAWriteThatNoCorrectCallerMakesIsRefused(t *testing.T) {
	known := &rondo.Instance{ID: rondo.ID{1}, OrgID: "acme", CaseID: "c-1", Status: rondo.StatusRunning, Version: 1}
	next := *known
	next.Version = 2
	for _, test := range []struct {
		name  string
		write store.Write
		want  rondo.Code
	}{
		{"no instance", store.Write{Instances: []store.InstanceWrite{{}}}, rondo.CodeInternal},
		{"an instance twice", store.Write{Instances: []store.InstanceWrite{{Instance: &next, Previous: 1}, {Instance: &next, Previous: 1}}}, rondo.CodeInternal},
		{"judging an unknown event", store.Write{Rejudged: []rondo.EventRecord{{OrgID: "acme", EventID: rondo.ID{9}}}}, rondo.CodeInternal},
		{"counting an unknown event", store.Write{Duplicates: []rondo.EventKey{{OrgID: "acme", EventID: rondo.ID{9}}}}, rondo.CodeInternal},
		{"a step of no instance", store.Write{Steps: []rondo.Step{{OrgID: "acme", InstanceID: rondo.ID{9}}}}, rondo.CodeNotFound},
		{"a step of another organisation's instance", store.Write{Steps: []rondo.Step{{OrgID: "other", InstanceID: known.ID}}}, rondo.CodeNotFound},
		{"an intervention in no instance", store.Write{Interventions: []rondo.Intervention{{OrgID: "acme", InstanceID: rondo.ID{9}}}}, rondo.CodeNotFound},
		{"an intervention twice", store.Write{Interventions: []rondo.Intervention{
			{ID: rondo.ID{2}, OrgID: "acme", InstanceID: known.ID}, {ID: rondo.ID{2}, OrgID: "acme", InstanceID: known.ID},
		}}, rondo.CodeConflict},
		{"a dead letter twice", store.Write{DeadLetters: []rondo.DeadLetter{{ID: rondo.ID{2}}, {ID: rondo.ID{2}}}}, rondo.CodeConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := memory.Open(memory.Options{})
			if err := update(t, s, &store.Write{Instances: []store.InstanceWrite{{Instance: known}}}); err != nil {
				t.Fatal(err)
			}
			if err := update(t, s, &test.write); err == nil || rondo.CodeOf(err) != test.want {
				t.Fatalf("error is %v with code %q, want code %q", err, rondo.CodeOf(err), test.want)
			}
		})
	}
}

func update(t *testing.T, s store.Store, write *store.Write) error {
	t.Helper()
	_, err := s.Update(t.Context(), store.Load{}, func(*store.Loaded) (*store.Write, error) { return write, nil })
	return err
}

func TestAPanicInDecideLeavesTheStoreUsable(t *testing.T) {
	s := memory.Open(memory.Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		_, _ = s.Update(t.Context(), store.Load{}, func(*store.Loaded) (*store.Write, error) { panic("defect") })
	}()
	if _, err := s.LogHead(t.Context()); err != nil {
		t.Fatal(err)
	}
}
