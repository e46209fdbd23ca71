package redis

import (
	"strings"

	"github.com/rondo-engine/rondo/store"
)

// names is the one place that knows how keys are named.
type names struct{ cluster bool }

// timers is the index of conversations that need attention.
const timers = "timers:conv"

// conversation holds the keys of one conversation, all in one slot.
type conversation struct {
	id                                                  string // as the caller has it
	tag                                                 string // as it stands in keys
	wf, conv, hist, turns, cards, lock, meta, keysIndex string
}

func (n names) conversation(id string) conversation {
	tag := escape(id)
	if n.cluster {
		tag = "{" + tag + "}"
	}
	return conversation{
		id: id, tag: tag,
		wf: "wf:" + tag, conv: "conv:" + tag, hist: "hist:" + tag, turns: "turns:" + tag, cards: "cards:" + tag,
		lock: "lock:conv:" + tag, meta: "meta:" + tag, keysIndex: "keys:" + tag,
	}
}

// key is where an idempotency key is claimed in this conversation.
func (c conversation) key(k store.ConversationKey) string { return "key:" + c.tag + ":" + scope(k) }

// pointerOf is the pointer that leads to a key of this conversation.
func (c conversation) pointerOf(key string) string {
	return "idem:" + strings.TrimPrefix(key, "key:"+c.tag+":")
}

// pointer is where an idempotency key says which conversation it is about.
func (names) pointer(k store.ConversationKey) string { return "idem:" + scope(k) }

// user is the index of a user's conversations.
func (names) user(tenant, user string) string {
	return "user:" + escape(tenant) + ":" + escape(user) + ":conversations"
}

func scope(k store.ConversationKey) string {
	return escape(k.TenantID) + ":" + escape(k.UserID) + ":" + escape(k.Route) + ":" + escape(k.Key)
}

// escape percent-encodes what would blur the parts of a key (":", "%"), what a
// cluster takes for a hash tag ("{", "}"), and what is hard to type (spaces and
// control characters). Two different texts never become one.
func escape(text string) string {
	plain := func(b byte) bool { return b > ' ' && b != 0x7f && b != ':' && b != '%' && b != '{' && b != '}' }
	first := 0
	for first < len(text) && plain(text[first]) {
		first++
	}
	if first == len(text) {
		return text
	}
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	out.Grow(len(text) + 8)
	for i := range len(text) {
		if b := text[i]; plain(b) {
			out.WriteByte(b)
		} else {
			out.WriteByte('%')
			out.WriteByte(hex[b>>4])
			out.WriteByte(hex[b&15])
		}
	}
	return out.String()
}
