package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// firstToKeep begins the scripts that trim: first_to_keep(id) is the lowest of
// id and, for every group, its first pending entry, or without pending ones the
// successor of the last entry it has read. Deciding and trimming are one step in
// the server, so no group can be created or read in between. Ids are compared as
// decimal strings, as numbers of 64 bits do not fit into Lua's.
const firstToKeep = `
local function split(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return ms, seq
end
local function below(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local function lower(a, b)
  local ams, aseq = split(a)
  local bms, bseq = split(b)
  if ams ~= bms then return below(ams, bms) end
  return below(aseq, bseq)
end
local function first_to_keep(keep)
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local group = {}
    for i = 1, #info, 2 do group[info[i]] = info[i + 1] end
    local first
    if group['pending'] > 0 then
      first = redis.call('XPENDING', KEYS[1], group['name'])[2]
    else
      first = group['last-delivered-id']
      local ms, seq = split(first)
      if #seq < 15 then first = ms .. '-' .. string.format('%.0f', tonumber(seq) + 1) end
    end
    if lower(first, keep) then keep = first end
  end
  return keep
end
`

// trimScript removes the entries of a stream that are older than a time and that
// every group has read and acked.
//
//	KEYS[1]  the stream
//	ARGV[1]  the first id to keep for its age: "<ms>-0"
//	ARGV[2]  "~" removes whole nodes only, at most ARGV[3] entries; "=" is exact
//	ARGV[3]  the bound for "~"
//	returns  how many entries were removed
const trimScript = firstToKeep + `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local keep = first_to_keep(ARGV[1])
if ARGV[2] == '~' then
  return redis.call('XTRIM', KEYS[1], 'MINID', '~', keep, 'LIMIT', ARGV[3])
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', keep)`

const (
	trimPage = 10_000 // entries removed per call, so that the server is not held up
	scanPage = 500
	// A consumer that has not been heard of for so long belongs to a process that
	// is gone: a live one reads several times a second.
	forgetAfter = 24 * time.Hour
)

// Trim removes entries that are older than before and that every group of their
// stream has read and acked, on all streams under the bus's prefix, and returns
// how many. An entry above one that is still open stays until that is acked. It
// also removes consumers of processes long gone that hold nothing.
func (b *Bus) Trim(ctx context.Context, before time.Time) (int64, error) {
	minID := strconv.FormatInt(max(before.UnixMilli(), 0), 10) + "-0"
	var removed int64
	err := b.eachStream(ctx, func(key string) error {
		for {
			n, err := b.client.Eval(ctx, trimScript, []string{key}, minID, "~", trimPage).Int64()
			if err != nil {
				return err
			}
			removed += n
			if n == 0 {
				break
			}
		}
		n, err := b.client.Eval(ctx, trimScript, []string{key}, minID, "=", 0).Int64()
		removed += n
		if err != nil {
			return err
		}
		return b.forgetConsumers(ctx, key, forgetAfter)
	})
	return removed, unavailable("trim streams", err)
}

// eachStream calls visit with the key of every stream under the prefix.
func (b *Bus) eachStream(ctx context.Context, visit func(key string) error) error {
	seen := map[string]bool{}
	for cursor := uint64(0); ; {
		keys, next, err := b.client.ScanType(ctx, cursor, b.keys.pattern(), scanPage, "stream").Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			if seen[key] { // a scan may repeat keys
				continue
			}
			seen[key] = true
			if err := visit(key); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// forgetConsumers removes consumers that nobody has heard of for long and that
// have nothing pending.
func (b *Bus) forgetConsumers(ctx context.Context, key string, after time.Duration) error {
	groups, err := b.client.XInfoGroups(ctx, key).Result()
	if err != nil {
		return ignoreMissing(err)
	}
	for _, group := range groups {
		consumers, err := b.client.XInfoConsumers(ctx, key, group.Name).Result()
		if err != nil {
			return ignoreMissing(err)
		}
		for _, c := range consumers {
			if c.Pending > 0 || c.Idle < after {
				continue
			}
			if err := b.client.Eval(ctx, retireScript, []string{key}, group.Name, c.Name).Err(); err != nil {
				return ignoreMissing(err)
			}
		}
	}
	return nil
}

// ignoreMissing drops the error for a stream or group that vanished meanwhile.
func ignoreMissing(err error) error {
	if redis.HasErrorPrefix(err, "NOGROUP") || redis.HasErrorPrefix(err, "ERR no such key") {
		return nil
	}
	return err
}
