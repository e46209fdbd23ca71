package embedded

import (
	"context"
	"log/slog"
)

// outage logs a failing operation once when it begins to fail and once when it
// works again. It belongs to one goroutine.
type outage struct {
	log     *slog.Logger
	what    string
	failing bool
}

func (o *outage) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !o.failing:
		o.failing = true
		o.log.WarnContext(ctx, o.what+" fails; it is tried again until it works", "error", err)
	case err == nil && o.failing:
		o.failing = false
		o.log.InfoContext(ctx, o.what+" works again")
	}
}
