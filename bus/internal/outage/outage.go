// Package outage logs operations that are tried until they work: one line when
// one begins to fail and one when it works again, however long that takes.
// It imports the standard library only.
package outage

import (
	"context"
	"log/slog"
)

// Log follows one operation. It belongs to one goroutine.
type Log struct {
	To      *slog.Logger
	What    string // the operation, as in "reading streams"
	failing bool
}

// Report says how the operation went. What fails because ctx has ended is no
// outage.
func (l *Log) Report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !l.failing:
		l.failing = true
		l.To.WarnContext(ctx, l.What+" fails; it is tried again until it works", "error", err)
	case err == nil && l.failing:
		l.failing = false
		l.To.InfoContext(ctx, l.What+" works again")
	}
}
