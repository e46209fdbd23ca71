package redis

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// run runs a script, once more when the connection broke: every script can be run
// twice. It returns the script's answer, or that of the second try. maybe says
// whether a try that was not answered may have run all the same.
func (s *Store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (answer any, maybe bool, err error) {
	for try := 0; ; try++ {
		sent, answer, err := s.try(ctx, script, keys, args)
		if err == nil {
			return answer, maybe, nil
		}
		if _, refused := errors.AsType[redis.Error](err); refused {
			return nil, maybe, err
		}
		// The client of a cluster sends again by itself, and tells of the last try.
		maybe = maybe || sent && (s.names.cluster || !neverSent(err))
		if timeout, ok := errors.AsType[net.Error](err); try > 0 || ctx.Err() != nil || ok && timeout.Timeout() {
			return nil, maybe, err
		}
	}
}

// try runs a script by its hash, and by its text when the server does not know it.
// sent says of an error whether the command may have left.
func (s *Store) try(ctx context.Context, script *redis.Script, keys []string, args []any) (sent bool, answer any, err error) {
	if s.names.cluster {
		if err := ctx.Err(); err != nil {
			return false, nil, err
		}
		answer, err := script.Run(ctx, s.client, keys, args...).Result()
		return true, answer, err
	}
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", script.Hash(), len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	command := redis.NewCmd(context.WithoutCancel(ctx), append(words, args...)...)
	if sent, err := s.batch.do(ctx, command); err != nil {
		return sent, nil, err
	}
	answer, err = command.Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = script.Eval(ctx, s.client, keys, args...).Result()
	}
	return true, answer, err
}

// ask runs a script that answers one word, and changes nothing that must be known
// for certain.
func (s *Store) ask(ctx context.Context, op string, script *redis.Script, keys []string, args ...any) (string, error) {
	answer, _, err := s.run(ctx, script, keys, args...)
	if err != nil {
		return "", failed(op, err)
	}
	word, ok := answer.(string)
	if !ok {
		return "", unexpected(op, "of another type")
	}
	return word, nil
}

// read sends commands that only read, and returns the first error that is not just
// something missing.
func (s *Store) read(ctx context.Context, commands ...redis.Cmder) error {
	if s.names.cluster {
		pipe := s.client.Pipeline()
		for _, command := range commands {
			_ = pipe.Process(ctx, command) // each command has its own error
		}
		_, _ = pipe.Exec(ctx)
	} else if _, err := s.batch.do(ctx, commands...); err != nil {
		return err
	}
	for _, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}

// life is how long something that ends then has to live, in milliseconds; at least
// one, because Redis takes none for erasing.
func life(at, then time.Time) int64 { return lifeOf(then.Sub(at)) }

func lifeOf(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}

// score is a time in an index: milliseconds, with microseconds behind the point.
func score(t time.Time) string {
	us := t.UnixMicro()
	if us%1000 == 0 {
		return strconv.FormatInt(us/1000, 10)
	}
	return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64)
}
