package mysql_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
)

// What a process remembers of its own writes must never hide what another
// process has done since, also when it made another instance of the same case
// with the same version.
func TestRememberedDocumentsAreAlwaysTheStoredOnes(t *testing.T) {
	ctx := t.Context()
	url := testenv.MySQL(t)
	handles := []*mysql.Store{openURL(t, url, mysql.Options{}), openURL(t, url, mysql.Options{})}
	if err := handles[0].Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	ids := rondo.NewIDs(time.Now)
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c-1"}
	instance := func(word string) *rondo.Instance {
		return &rondo.Instance{
			ID: ids.New(), OrgID: key.OrgID, CaseID: key.CaseID, DefinitionID: ids.New(), Status: rondo.StatusRunning, Version: 1,
			Context: rondo.Context{"word": json.RawMessage(`"` + word + `"`)},
			Machine: rondo.Machine{Live: []rondo.Attempt{{StepID: word}}},
		}
	}
	// change commits what next makes of what the handle sees, and returns that.
	change := func(s *mysql.Store, next func(*rondo.Instance) []store.InstanceWrite) *rondo.Instance {
		t.Helper()
		var seen *rondo.Instance
		_, err := s.Update(ctx, store.Load{Cases: []rondo.CaseKey{key}}, func(l *store.Loaded) (*store.Write, error) {
			seen = l.Cases[key].Instance
			return &store.Write{Instances: next(seen)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	look := func(s *mysql.Store, want string, version int64) {
		t.Helper()
		seen := change(s, func(*rondo.Instance) []store.InstanceWrite { return nil })
		if seen.Version != version || string(seen.Context["word"]) != `"`+want+`"` || seen.Machine.Live[0].StepID != want {
			t.Fatalf("saw version %d of %s at %s, want version %d of %q", seen.Version, seen.Context["word"], seen.Machine.Live[0].StepID, version, want)
		}
	}
	bump := func(word string) func(*rondo.Instance) []store.InstanceWrite {
		return func(seen *rondo.Instance) []store.InstanceWrite {
			next := instance(word)
			next.ID, next.Version = seen.ID, seen.Version+1
			return []store.InstanceWrite{{Instance: next, Previous: seen.Version}}
		}
	}
	change(handles[0], func(*rondo.Instance) []store.InstanceWrite { return []store.InstanceWrite{{Instance: instance("one")}} })
	look(handles[0], "one", 1)
	look(handles[1], "one", 1)
	change(handles[1], bump("two"))
	look(handles[0], "two", 2)
	change(handles[0], bump("three"))
	change(handles[1], bump("four"))
	look(handles[0], "four", 4)

	change(handles[0], bump("five")) // handle 0 remembers version 5 of the first instance
	change(handles[1], func(seen *rondo.Instance) []store.InstanceWrite {
		cancelled, other := *seen, instance("other")
		cancelled.Status, cancelled.Version = rondo.StatusCancelled, seen.Version+1
		other.Version = seen.Version
		return []store.InstanceWrite{{Instance: &cancelled, Previous: seen.Version}, {Instance: other}}
	})
	look(handles[0], "other", 5)

	// The database loses the newest commit, and another process makes a version of
	// the same number.
	change(handles[0], bump("lost"))
	execute(t, url, "UPDATE instances SET version = 5 WHERE version = 6 AND status = 'running'")
	change(handles[1], bump("kept"))
	look(handles[0], "kept", 6)
}
