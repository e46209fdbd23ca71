package redis

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// retireGroupScript removes a group from a stream unless one of its consumers was
// heard of lately: a live one reads several times a second.
//
//	KEYS[1]  the stream
//	ARGV[1]  the group
//	ARGV[2]  how long a consumer may be silent and still count as reading, in ms
//	ARGV[3]  "1" removes it, "0" only looks
//	returns  0 when the stream has no such group, 1 when it is (or would be)
//	         removed, 2 when someone reads it
const retireGroupScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local found = false
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  for i = 1, #info, 2 do
    if info[i] == 'name' and info[i + 1] == ARGV[1] then found = true end
  end
end
if not found then return 0 end
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  for i = 1, #info, 2 do
    if info[i] == 'idle' and info[i + 1] < tonumber(ARGV[2]) then return 2 end
  end
end
if ARGV[3] == '1' then redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[1]) end
return 1`

// Retire makes a group leave all streams under the bus's prefix, unless a
// consumer of it was heard of within Options.Silent. It looks at every stream
// before it touches one.
func (b *Bus) Retire(ctx context.Context, group string) error {
	op, silent := "retire group "+group, b.opts.Silent.Milliseconds()
	var keys []string
	err := b.eachStream(ctx, func(key string) error {
		state, err := b.client.Eval(ctx, retireGroupScript, []string{key}, group, silent, "0").Int64()
		switch {
		case err != nil:
			return unavailable(op, err)
		case state == 2:
			return rondo.Op(op, rondo.WrongState("the consumer group is being read"))
		case state == 1:
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		if rondo.CodeOf(err) == rondo.CodeInternal {
			return unavailable(op, err)
		}
		return err
	}
	if len(keys) == 0 {
		return rondo.Op(op, rondo.NotFound("consumer group"))
	}
	for _, key := range keys {
		if err := b.client.Eval(ctx, retireGroupScript, []string{key}, group, silent, "1").Err(); err != nil {
			return unavailable(op, err)
		}
	}
	return nil
}
