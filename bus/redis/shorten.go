package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// shortenScript removes the oldest entries of a stream that is too long, as far
// as every group has read and acked them.
//
//	KEYS[1]  the stream
//	ARGV[1]  how many entries may stay, at least 1
//	ARGV[2]  how many to remove at most
//	returns  how many entries were removed
const shortenScript = firstToKeep + `
local excess = redis.call('XLEN', KEYS[1]) - tonumber(ARGV[1])
if excess <= 0 then return 0 end
excess = math.min(excess, tonumber(ARGV[2]))
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', excess + 1)
return redis.call('XTRIM', KEYS[1], 'MINID', '=', first_to_keep(oldest[excess + 1][1]))`

const (
	shortenPage  = 1000 // entries removed per call, so that the server is not held up
	shortenPages = 100  // calls per stream and round
)

// Shorten implements bus.Shortener, for the streams that were there at the first
// call and those that this bus has published to since. Streams that are short
// enough cost one XLEN each, all in one round trip.
func (b *Bus) Shorten(ctx context.Context, above, keep int64) (map[string]int64, error) {
	keep = max(keep, 1)
	lengths, err := b.lengths(ctx)
	if err != nil {
		return nil, unavailable("measure streams", err)
	}
	for stream, length := range lengths {
		if length <= above {
			continue
		}
		for range shortenPages {
			removed, err := b.client.Eval(ctx, shortenScript, []string{b.keys.stream(stream)}, keep, shortenPage).Int64()
			if err != nil {
				return nil, unavailable("shorten streams", err)
			}
			length -= removed
			if removed < shortenPage {
				break
			}
		}
		lengths[stream] = length
	}
	return lengths, nil
}

// lengths measures all known streams.
func (b *Bus) lengths(ctx context.Context) (map[string]int64, error) {
	if !b.scanned.Load() {
		err := b.eachStream(ctx, func(key string) error {
			b.publisher.know(b.keys.eventType(key))
			return nil
		})
		if err != nil {
			return nil, err
		}
		b.scanned.Store(true)
	}
	streams := b.publisher.streams()
	pipe := b.client.Pipeline()
	results := make([]*redis.IntCmd, len(streams))
	for i, stream := range streams {
		results[i] = pipe.XLen(ctx, b.keys.stream(stream))
	}
	if len(results) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
	}
	lengths := make(map[string]int64, len(streams))
	for i, stream := range streams {
		lengths[stream] = results[i].Val()
	}
	return lengths, nil
}

// know remembers a stream.
func (p *publisher) know(stream string) {
	if _, ok := p.known.Load(stream); !ok {
		p.known.Store(stream, nil)
	}
}

// streams returns the remembered streams.
func (p *publisher) streams() []string {
	var streams []string
	p.known.Range(func(stream, _ any) bool {
		streams = append(streams, stream.(string))
		return true
	})
	return streams
}
