package cli

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// How long a server may be away while a run is watched, how often it is looked
// for, and after how long in touch it counts as back.
const (
	awayLimit = 30 * time.Second
	awayLook  = time.Second
	backAfter = 5 * time.Second
)

// watchPatiently watches a run until it has ended, also while its server starts
// again: the run itself goes on there.
func watchPatiently(ctx context.Context, watch func(after int64, tell func(client.RunEvent) error) error, id string, tell func(client.RunEvent) error, note func(string)) error {
	var after int64
	var away time.Time // since when nothing was heard; zero = it answers
	for {
		began, heard := time.Now(), false
		err := watch(after, func(e client.RunEvent) error {
			after, heard = max(after, e.Seq), true
			return tell(e)
		})
		if err == nil || ctx.Err() != nil || rondo.CodeOf(err) != rondo.CodeUnavailable {
			return err
		}
		if heard || time.Since(began) >= backAfter {
			away = time.Time{}
		}
		if away.IsZero() {
			away = time.Now()
			note("The server does not answer; waiting for it.")
		}
		if time.Since(away) >= awayLimit {
			return &rondo.Error{Code: rondo.CodeUnavailable, Message: "the server has not answered for " + span(awayLimit), Hint: "the run goes on: rondo runs watch " + id, Err: err}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awayLook):
		}
	}
}
