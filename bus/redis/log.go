package redis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends what the Redis client says by itself to a log, at debug level. The
// client has one logger for the whole process, and without this it prints to
// standard error; the composition root calls it once. Failures that matter reach
// callers as errors and Options.Log as changes, so nothing is lost at other levels.
func LogTo(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

// clientLog is a log as the Redis client wants it.
type clientLog struct{ log *slog.Logger }

// Printf logs one line.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "the Redis client says", "text", fmt.Sprintf(format, v...))
	}
}
