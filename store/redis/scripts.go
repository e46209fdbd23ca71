package redis

import "github.com/redis/go-redis/v9"

// The scripts of leases and writes. Each answers one word, some with a number
// behind it. Everything is checked before anything is written, because Redis does
// not take back what a failing script has done. Times are microseconds of the
// caller's clock; lives are milliseconds, counted by Redis.

// luaRecord defines record(conv, meta, at): who owns a conversation and when it
// ends, as .tenant, .user and .expires; nil when it is not there (any more). Meta
// lives as long as the record; one of an earlier version has none, and may have no
// expiry.
const luaRecord = `
local function record(conv, meta, at)
  local m = redis.call('HMGET', meta, 'tenant', 'user', 'expires')
  if m[1] then
    local expires = tonumber(m[3])
    if expires <= at then return nil end
    return {tenant = m[1], user = m[2], expires = expires, meta = true}
  end
  local text = redis.call('GET', conv)
  if not text then return nil end
  local ok, c = pcall(cjson.decode, text)
  if not ok or type(c) ~= 'table' then return {corrupt = true} end
  return {tenant = c.tenantId, user = c.userId, expires = at + math.max(redis.call('PTTL', conv), 0) * 1000}
end
`

// luaProlong defines prolong(key, life): the key lives at least so long.
const luaProlong = `
local function prolong(key, life)
  if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
end
`

// acquireScript takes a lease.
//
//	KEYS: lock, conv, meta, wf, hist, turns, cards, then the indexes that are on this server
//	ARGV: token, life of the lease, at, new expiry or "", life until then, "1" = for nobody, tenant, user
//
// It answers ok, missing, corrupt, or busy with the life that the lease has left.
var acquireScript = redis.NewScript(luaRecord + luaProlong + `
local r = record(KEYS[2], KEYS[3], tonumber(ARGV[3]))
if not r then return 'missing' end
if r.corrupt then return 'corrupt' end
if ARGV[6] == '' and (r.tenant ~= ARGV[7] or r.user ~= ARGV[8]) then return 'missing' end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'busy ' .. redis.call('PTTL', KEYS[1]) end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if ARGV[4] ~= '' and tonumber(ARGV[4]) > r.expires then
  if r.meta then redis.call('HSET', KEYS[3], 'expires', ARGV[4]) end
  for i = 2, 7 do redis.call('PEXPIRE', KEYS[i], ARGV[5]) end
  for i = 8, #KEYS do prolong(KEYS[i], ARGV[5]) end
end
return 'ok'
`)

// renewScript prolongs a lease. KEYS: lock. ARGV: token, life. It answers ok or
// lost.
var renewScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
`)

// releaseScript gives a lease back. KEYS: lock. ARGV: token. It answers ok.
var releaseScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'ok'
`)

// writeScript creates a conversation or commits a turn.
//
//	KEYS: lock, conv, wf, meta, hist, turns, cards, keys, key (or keys again when there
//	      is none), then on one server: user, timers and, if there is a key, its pointer
//	ARGV:  1 create, commit, or older: commit to a record without meta, whose version
//	         the caller has compared
//	       2 mark of this write  3 token  4 previous version  5 version  6 at
//	       7 expiry  8 life until then  9 tenant  10 user  11 conv  12 wf
//	      13 number of the turn or ""  14 turn
//	      15 token of the key or ""  16 fingerprint  17 status  18 body  19 expiry
//	      20 life until then  21 pointer
//	      22 id  23 score among the user's  24 score among the timers or ""
//	      25 number of messages, then messages, then ids and texts of cards
//
// It answers ok, lost, conflict, taken, missing, corrupt, held: done, but the lease is
// kept until the attention is right in its index elsewhere, or older: read the
// record, and say it again with what its history was.
var writeScript = redis.NewScript(luaProlong + `
local lock, conv, wf, meta, hist, turns, cards, keys, key, user, timers, pointer = unpack(KEYS)
local mode, at, expires, life = ARGV[1], tonumber(ARGV[6]), ARGV[7], ARGV[8]
local m = redis.call('HMGET', meta, 'version', 'expires', 'write', 'attention')
if m[3] == ARGV[2] then return 'ok' end

if mode == 'create' then
  if redis.call('EXISTS', conv) == 1 and not (m[2] and tonumber(m[2]) <= at) then return 'taken' end
else
  if ARGV[3] == '' or redis.call('GET', lock) ~= ARGV[3] then return 'lost' end
  if m[2] then
    if tonumber(m[2]) <= at then return 'missing' end
  elseif redis.call('EXISTS', conv) == 0 then
    return 'missing'
  elseif mode ~= 'older' then
    return 'older'
  end
  if m[1] and m[1] ~= ARGV[4] then return 'conflict' end
end
if ARGV[15] ~= '' then
  local k = redis.call('HMGET', key, 'token', 'status')
  if k[1] ~= ARGV[15] or k[2] then return 'lost' end
  if pointer then
    local p = redis.call('GET', pointer)
    if p and p ~= ARGV[21] then return 'lost' end
  end
end
local last = 25 + tonumber(ARGV[25]) -- the last message
local function holds(name, kind)
  local t = redis.call('TYPE', name).ok
  return t == kind or t == 'none'
end
if not (holds(hist, 'list') and holds(turns, 'hash') and (#ARGV == last or holds(cards, 'hash'))
  and (ARGV[15] == '' or holds(keys, 'zset')) and (not user or holds(user, 'zset') and holds(timers, 'zset'))) then return 'corrupt' end

if mode == 'create' then
  redis.call('DEL', lock, conv, wf, meta, hist, turns, cards)
elseif not m[2] or tonumber(m[2]) > tonumber(expires) then
  life = math.max(tonumber(life), redis.call('PTTL', conv))
  expires = m[2] or expires
end
redis.call('SET', conv, ARGV[11], 'PX', life)
redis.call('SET', wf, ARGV[12], 'PX', life)
redis.call('HSET', meta, 'version', ARGV[5], 'expires', expires, 'attention', ARGV[24], 'write', ARGV[2])
if not m[2] or mode == 'create' then redis.call('HSET', meta, 'tenant', ARGV[9], 'user', ARGV[10]) end
redis.call('PEXPIRE', meta, life)
for i = 26, last do redis.call('RPUSH', hist, ARGV[i]) end
redis.call('PEXPIRE', hist, life)
if ARGV[13] ~= '' then redis.call('HSET', turns, ARGV[13], ARGV[14]) end
redis.call('PEXPIRE', turns, life)
for i = last + 1, #ARGV, 2 do redis.call('HSET', cards, ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', cards, life)
if ARGV[15] ~= '' then
  redis.call('HSET', key, 'fingerprint', ARGV[16], 'status', ARGV[17], 'body', ARGV[18], 'expires', ARGV[19])
  redis.call('PEXPIRE', key, ARGV[20])
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', ARGV[6])
  redis.call('ZADD', keys, ARGV[19], key)
  prolong(keys, ARGV[20])
  if pointer then redis.call('SET', pointer, ARGV[21], 'PX', ARGV[20]) end
end
if not user and mode ~= 'create' and (m[4] or '') ~= ARGV[24] then
  redis.call('PEXPIRE', lock, 5000)
  return 'held'
end
if mode ~= 'create' then redis.call('DEL', lock) end
if user then
  redis.call('ZADD', user, ARGV[23], ARGV[22])
  prolong(user, life)
  if ARGV[24] == '' then
    redis.call('ZREM', timers, ARGV[22])
  else
    redis.call('ZADD', timers, ARGV[24], ARGV[22])
    prolong(timers, life)
  end
end
return 'ok'
`)

// deleteScript erases a conversation.
//
//	KEYS: lock, conv, meta, further keys to erase, then on one server: user, timers
//	ARGV: token, at, tenant, user, number of further keys, id
//
// It answers ok, missing, corrupt or lost.
var deleteScript = redis.NewScript(luaRecord + `
local r = record(KEYS[2], KEYS[3], tonumber(ARGV[2]))
if not r then return 'missing' end
if r.corrupt then return 'corrupt' end
if r.tenant ~= ARGV[3] or r.user ~= ARGV[4] then return 'missing' end
if ARGV[1] == '' or redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end
local last = 3 + tonumber(ARGV[5])
for i = 1, last do redis.call('DEL', KEYS[i]) end
for i = last + 1, #KEYS do redis.call('ZREM', KEYS[i], ARGV[6]) end
return 'ok'
`)

// hintScript writes an entry of an index that is on another server than the
// conversation.
//
//	KEYS: index. ARGV: score, id, life, LT or GT = keep what is lower or higher, "" = exactly
var hintScript = redis.NewScript(luaProlong + `
if ARGV[4] == '' then
  redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
else
  redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1], ARGV[2])
end
prolong(KEYS[1], ARGV[3])
return 'ok'
`)

// prolongScript keeps an index as long as what is in it. KEYS: index. ARGV: life.
var prolongScript = redis.NewScript(luaProlong + `
prolong(KEYS[1], ARGV[1])
return 'ok'
`)
