package cli

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestAServerThatStartsAgainIsWaitedFor(t *testing.T) {
	t.Parallel()
	away := &rondo.Error{Code: rondo.CodeUnavailable, Message: "no connection"}
	synctest.Test(t, func(t *testing.T) {
		began, told, notes := time.Now(), 0, 0
		var asked []int64
		watch := func(back time.Duration) func(int64, func(client.RunEvent) error) error {
			return func(after int64, tell func(client.RunEvent) error) error {
				asked = append(asked, after)
				switch {
				case len(asked) == 1:
					return errors.Join(tell(client.RunEvent{Seq: 7}), away)
				case time.Since(began) < back:
					return away
				}
				return tell(client.RunEvent{Seq: 8})
			}
		}
		tell := func(client.RunEvent) error { told++; return nil }
		note := func(string) { notes++ }
		if err := watchPatiently(t.Context(), watch(20*time.Second), "r", tell, note); err != nil || told != 2 || notes != 1 {
			t.Errorf("of a server that came back: %v, %d told, %d notes; want 2 and 1", err, told, notes)
		}
		if last := asked[len(asked)-1]; last != 7 {
			t.Errorf("it goes on after %d, want 7", last)
		}
		began, asked = time.Now(), nil
		err := watchPatiently(t.Context(), watch(time.Hour), "r", tell, note)
		e, ok := errors.AsType[*rondo.Error](err)
		if waited := time.Since(began); !ok || e.Hint != "the run goes on: rondo runs watch r" || waited < awayLimit || waited > 2*awayLimit {
			t.Errorf("of a server that stays away, after %v: %v", waited, err)
		}
	})
}
