package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
)

// historyScript reads a page of messages, and the record instead when there is no
// list, because earlier versions kept them there.
//
//	KEYS: hist, conv, meta. ARGV: before or 0, limit
//
// It answers {expires, number of the first message, messages …} or {expires, "",
// record}.
var historyScript = redis.NewScript(`
local expires = redis.call('HGET', KEYS[3], 'expires') or ''
local n = redis.call('LLEN', KEYS[1])
if n == 0 then return {expires, '', redis.call('GET', KEYS[2])} end
local before, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = n
if before > 0 and before - 1 < n then last = before - 1 end
local first = math.max(last - limit, 0)
if last == 0 then return {expires, '0'} end
local answer = redis.call('LRANGE', KEYS[1], first, last - 1)
table.insert(answer, 1, expires)
table.insert(answer, 2, tostring(first + 1))
return answer
`)

// History implements store.Conversations.
func (s *Store) History(ctx context.Context, id string, at time.Time, before, limit int) ([]rondo.NormalizedMessage, int, error) {
	const op = "read history"
	if id == "" || limit <= 0 {
		return nil, 0, nil
	}
	c := s.names.conversation(id)
	answer, _, err := s.run(ctx, historyScript, []string{c.hist, c.conv, c.meta}, max(before, 0), limit)
	if err != nil {
		return nil, 0, failed(op, err)
	}
	texts := texts(answer)
	if len(texts) < 2 || ended(texts[0], at) {
		return nil, 0, nil
	}
	number, texts := texts[1], texts[2:]
	first, err := strconv.Atoi(number)
	if err != nil { // there is no list
		if texts, first, err = embeddedHistory(op, texts, before, limit); err != nil {
			return nil, 0, err
		}
	}
	if len(texts) == 0 {
		return nil, 0, nil
	}
	messages := make([]rondo.NormalizedMessage, len(texts))
	for i, text := range texts {
		if err := decode(op, "message", text, &messages[i]); err != nil {
			return nil, 0, err
		}
	}
	return messages, first, nil
}

// embeddedHistory is a page of what a record of an earlier version has in it.
func embeddedHistory(op string, record []string, before, limit int) (page []string, first int, err error) {
	if len(record) == 0 {
		return nil, 0, nil
	}
	var embedded olderHistory
	if err := decode(op, "conversation", record[0], &embedded); err != nil {
		return nil, 0, err
	}
	last := len(embedded.History)
	if before > 0 {
		last = min(last, before-1)
	}
	from := max(last-limit, 0)
	for _, text := range embedded.History[from:last] {
		page = append(page, string(text))
	}
	return page, from + 1, nil
}

// texts reads an answer that is a list of strings; it ends at the first that is
// not there.
func texts(answer any) []string {
	list, _ := answer.([]any)
	out := make([]string, 0, len(list))
	for _, value := range list {
		text, ok := value.(string)
		if !ok {
			break
		}
		out = append(out, text)
	}
	return out
}

// Turns implements store.Conversations.
func (s *Store) Turns(ctx context.Context, id string, at time.Time, after, limit int) ([]rondo.TurnRecord, error) {
	const op = "list turns"
	c := s.names.conversation(id)
	numbers, err := s.turnNumbers(ctx, op, c, at, after)
	if err != nil || len(numbers) == 0 || limit <= 0 {
		return nil, err
	}
	numbers = numbers[:min(len(numbers), limit)]
	members := make([]string, len(numbers))
	for i, n := range numbers {
		members[i] = strconv.Itoa(n)
	}
	values, err := s.client.HMGet(ctx, c.turns, members...).Result()
	if err != nil {
		return nil, failed(op, err)
	}
	turns := make([]rondo.TurnRecord, 0, len(values))
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			continue // it expired in between
		}
		var turn rondo.TurnRecord
		if err := decode(op, "turn record", text, &turn); err != nil {
			return nil, err
		}
		turns = append(turns, turn)
	}
	return turns, nil
}

// turnNumbers are the numbers of the turn records after one, in order.
func (s *Store) turnNumbers(ctx context.Context, op string, c conversation, at time.Time, after int) ([]int, error) {
	pipe := s.client.Pipeline()
	members := pipe.HKeys(ctx, c.turns)
	expires := pipe.HGet(ctx, c.meta, "expires")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, failed(op, err)
	}
	if ended(expires.Val(), at) {
		return nil, nil
	}
	var numbers []int
	for _, member := range members.Val() {
		if n, err := strconv.Atoi(member); err == nil && n > after {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Turn implements store.Conversations.
func (s *Store) Turn(ctx context.Context, id string, at time.Time, number int) (rondo.TurnRecord, error) {
	const op = "read turn"
	var turn rondo.TurnRecord
	c := s.names.conversation(id)
	text, err := s.readMember(ctx, op, c, c.turns, strconv.Itoa(number), at)
	if err != nil {
		return turn, err
	}
	if text == "" {
		return turn, rondo.Op(op, rondo.NotFound("turn"))
	}
	return turn, decode(op, "turn record", text, &turn)
}
