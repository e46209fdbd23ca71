package redis

import "strings"

// The fields of a stream entry.
const (
	fieldEnvelope = "envelope"
	fieldRelayed  = "relayed"
	fieldOwn      = "own"
)

// keys is the one place that knows how streams are named in Redis.
type keys struct{ prefix, hashTag string }

// base is what every stream's key begins with.
func (k keys) base() string {
	if k.hashTag == "" {
		return k.prefix + "events:"
	}
	return k.prefix + "{" + k.hashTag + "}events:"
}

// stream is the key of an event type.
func (k keys) stream(eventType string) string { return k.base() + eventType }

// eventType is the reverse of stream.
func (k keys) eventType(key string) string { return strings.TrimPrefix(key, k.base()) }

// pattern matches the keys of all streams.
func (k keys) pattern() string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`).Replace(k.base()) + "*"
}
