package redis

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// claimScript claims an idempotency key in the slot of its conversation, or only
// looks (token "").
//
//	KEYS: key. ARGV: token, fingerprint, life, at
//
// It answers {"free"}, {"ours"}, {"running", fingerprint, life left} or {"done",
// fingerprint, status, expires, body}.
var claimScript = redis.NewScript(`
local k = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'status', 'expires', 'body')
if k[3] and tonumber(k[4]) > tonumber(ARGV[4]) then return {'done', k[2], k[3], k[4], k[5]} end
if k[1] and not k[3] and k[1] ~= ARGV[1] then return {'running', k[2], tostring(redis.call('PTTL', KEYS[1]))} end
if ARGV[1] == '' then return {'free'} end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'fingerprint', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'ours'}
`)

// renewKeyScript prolongs a claim, or ends it (life ""). It never brings one back.
//
//	KEYS: key. ARGV: token, life
//
// It answers ok or lost.
var renewKeyScript = redis.NewScript(`
local k = redis.call('HMGET', KEYS[1], 'token', 'status')
if k[1] ~= ARGV[1] or k[2] then return 'lost' end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 'ok'
`)

// pointScript points a key to a conversation, unless it points elsewhere; old is
// what may be replaced. A pointer that is there already does not get shorter.
//
//	KEYS: pointer. ARGV: pointer, life, old or ""
//
// It answers "", or what it points to instead.
var pointScript = redis.NewScript(`
local p = redis.call('GET', KEYS[1])
if p and p ~= ARGV[1] and p ~= ARGV[3] then return p end
local life = tonumber(ARGV[2])
if p == ARGV[1] then life = math.max(life, redis.call('PTTL', KEYS[1])) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', life)
return ''
`)

// unpointScript takes a pointer away. KEYS: pointer. ARGV: pointer.
var unpointScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'ok'
`)

// pointer says which conversation an idempotency key is about. Its text is compared
// as a whole.
type pointer struct {
	Conversation string `json:"conversationId"`
	Token        string `json:"token"`
}

func (p pointer) text() string {
	text, _ := json.Marshal(p) // strings always can be
	return string(text)
}

// BeginKey implements store.Conversations. The claim comes first and the pointer
// second: whoever follows a pointer finds the claim or its answer, or knows that it
// has ended for good.
func (s *Store) BeginKey(ctx context.Context, claim store.KeyClaim) (store.KeyState, error) {
	const op = "claim idempotency key"
	if claim.Token == "" || claim.ConversationID == "" {
		return store.KeyState{}, &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "a claim needs a token and a conversation"}
	}
	met, err := s.claim(ctx, op, &claim, claim.ConversationID, claim.Token)
	if err != nil || !met.Ours {
		return met, err
	}
	name := s.names.pointer(claim.Key)
	own := pointer{Conversation: claim.ConversationID, Token: claim.Token}.text()
	other, err := s.point(ctx, op, name, own, "", lifeOf(claim.Lease))
	for range 2 { // between looking and replacing another may have come
		if err != nil || other == "" {
			return met, err
		}
		var there pointer
		if json.Unmarshal([]byte(other), &there) == nil && there.Conversation != "" && there.Conversation != claim.ConversationID {
			found, err := s.claim(ctx, op, &claim, there.Conversation, "")
			if err != nil || found.Result != nil || found.RetryAfter > 0 {
				s.withdraw(ctx, &claim)
				return found, err
			}
		}
		other, err = s.point(ctx, op, name, own, other, lifeOf(claim.Lease))
	}
	if err != nil || other == "" {
		return met, err
	}
	s.withdraw(ctx, &claim)
	return store.KeyState{RetryAfter: claim.Lease}, nil
}

// claim claims a key in a conversation, or looks what it is there (token "").
func (s *Store) claim(ctx context.Context, op string, claim *store.KeyClaim, conversation, token string) (store.KeyState, error) {
	key := s.names.conversation(conversation).key(claim.Key)
	answer, _, err := s.run(ctx, claimScript, []string{key}, token, claim.Fingerprint, lifeOf(claim.Lease), claim.At.UnixMicro())
	if err != nil {
		return store.KeyState{}, failed(op, err)
	}
	words := texts(answer)
	switch {
	case len(words) == 1:
		return store.KeyState{Ours: words[0] == "ours"}, nil
	case len(words) < 3:
		return store.KeyState{}, unexpected(op, "of another type")
	case words[1] != claim.Fingerprint:
		return store.KeyState{}, reused(op)
	case words[0] == "running":
		left, _ := strconv.ParseInt(words[2], 10, 64)
		return store.KeyState{RetryAfter: time.Duration(max(left, 1)) * time.Millisecond}, nil
	case len(words) < 5:
		return store.KeyState{}, corrupt(op, "the stored answer of an idempotency key is not whole", nil)
	}
	status, errStatus := strconv.Atoi(words[2])
	expires, errExpires := strconv.ParseInt(words[3], 10, 64)
	if err := errors.Join(errStatus, errExpires); err != nil {
		return store.KeyState{}, corrupt(op, "the stored answer of an idempotency key cannot be read", err)
	}
	return store.KeyState{Result: &store.KeyResult{
		Key: claim.Key, Fingerprint: words[1], Status: status, Body: json.RawMessage(words[4]), ExpiresAt: time.UnixMicro(expires).UTC(),
	}}, nil
}

// withdraw ends a claim that was not pointed to. It runs out by itself too.
func (s *Store) withdraw(ctx context.Context, claim *store.KeyClaim) {
	key := s.names.conversation(claim.ConversationID).key(claim.Key)
	_, _, _ = s.run(ctx, renewKeyScript, []string{key}, claim.Token, "")
}

// point points a key to a conversation; other is what it points to instead.
func (s *Store) point(ctx context.Context, op, name, own, old string, life int64) (other string, err error) {
	return s.ask(ctx, op, pointScript, []string{name}, own, life, old)
}

// unpoint takes away what leads to keys of a conversation that is gone. A pointer
// that stays leads nowhere and runs out.
func (s *Store) unpoint(ctx context.Context, c conversation, keys []string) {
	if len(keys) == 0 {
		return
	}
	found := make([]*redis.StringCmd, len(keys))
	_, _ = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			found[i] = pipe.Get(ctx, c.pointerOf(key))
		}
		return nil
	})
	_, _ = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			var p pointer
			if text := found[i].Val(); json.Unmarshal([]byte(text), &p) == nil && p.Conversation == c.id {
				unpointScript.Eval(ctx, pipe, []string{c.pointerOf(key)}, text)
			}
		}
		return nil
	})
}

// own finds the conversation of a claim; "" when the claim is not the token's.
func (s *Store) own(ctx context.Context, op string, key store.ConversationKey, token string) (name, text, claimed string, err error) {
	name = s.names.pointer(key)
	text, err = s.client.Get(ctx, name).Result()
	if errors.Is(err, redis.Nil) {
		return name, "", "", nil
	}
	if err != nil {
		return name, "", "", failed(op, err)
	}
	var p pointer
	if json.Unmarshal([]byte(text), &p) != nil || token == "" || p.Token != token || p.Conversation == "" {
		return name, "", "", nil //nolint:nilerr // a pointer that cannot be read is nobody's; BeginKey replaces it
	}
	return name, text, s.names.conversation(p.Conversation).key(key), nil
}

// RenewKey implements store.Conversations.
func (s *Store) RenewKey(ctx context.Context, key store.ConversationKey, token string, _ time.Time, d time.Duration) error {
	const op = "renew idempotency key"
	name, text, claimed, err := s.own(ctx, op, key, token)
	if err != nil {
		return err
	}
	if claimed == "" {
		return lost(op)
	}
	word, err := s.ask(ctx, op, renewKeyScript, []string{claimed}, token, lifeOf(d))
	if err != nil {
		return err
	}
	if word != "ok" {
		return lost(op)
	}
	other, err := s.point(ctx, op, name, text, "", lifeOf(d))
	if err == nil && other != "" {
		return lost(op)
	}
	return err
}

// DropKey implements store.Conversations.
func (s *Store) DropKey(ctx context.Context, key store.ConversationKey, token string) error {
	const op = "drop idempotency key"
	name, text, claimed, err := s.own(ctx, op, key, token)
	if err != nil || claimed == "" {
		return err
	}
	word, err := s.ask(ctx, op, renewKeyScript, []string{claimed}, token, "")
	if err != nil || word != "ok" {
		return err
	}
	_, err = s.ask(ctx, op, unpointScript, []string{name}, text)
	return err
}
