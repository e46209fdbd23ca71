package chat

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/store"
)

// What a turn for an unknown conversation meets.
const (
	UnknownRefuse     = "refuse"     // it is not found
	UnknownInitialise = "initialise" // it begins a fresh one, under a key of tenant, user and id
)

// Config is what a Service is made of. Store and Definitions are needed; the zero
// value of everything else works.
type Config struct {
	Store       store.Conversations
	Definitions Definitions

	// Agents by provider. A definition that names none gets DefaultAgent; one whose
	// agent is not here cannot be talked to. Default: none.
	Agents       map[string]agent.Agent
	DefaultAgent string

	// Relay takes events that turns raise. Default: none, they stay pending.
	Relay Relay
	// Observer is told what happened. Default: nobody.
	Observer Observer
	Log      *slog.Logger     // default: slog.Default()
	Now      func() time.Time // default: time.Now
	// NewID makes UUIDs for conversations, messages, cards and lease tokens: it must
	// not be guessable. Default: random ones, version 4.
	NewID func() string

	TTL          time.Duration // a conversation expires when nothing happens for so long; default 24h
	Lease        time.Duration // of a conversation under a turn, renewed at a third of it; default 10s
	AgentTimeout time.Duration // of one agent call, unless the definition says another; default 30s
	KeyTTL       time.Duration // how long the answer under an idempotency key is kept; default 1h
	KeyLease     time.Duration // of a key under a running request, renewed at a third of it; default 30s
	Poll         time.Duration // between looks for due timers and events to relay; default 1s

	Sweepers          int      // conversations that the loop looks after at once; default 8
	MaxText           int      // UTF-16 units in one text of a user; default 4000
	MaxInFlight       int      // requests at once, those over it are refused as overloaded; default 1024
	DefaultDefinition string   // of a start that names none; default "default"
	Unknown           string   // UnknownRefuse (default) or UnknownInitialise
	AllowedActions    []string // action types of cards; default Action.Submit, Action.OpenUrl
	AllowedDomains    []string // that Action.OpenUrl may lead to; default none
}

// withDefaults fills in what was left out and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Definitions == nil {
		return c, &rondo.Error{Code: rondo.CodeInvalid, Op: "chat.New", Message: "Store and Definitions are needed"}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	for _, d := range []struct {
		value    *time.Duration
		name     string
		fallback time.Duration
	}{
		{&c.TTL, "TTL", 24 * time.Hour},
		{&c.Lease, "Lease", 10 * time.Second},
		{&c.AgentTimeout, "AgentTimeout", 30 * time.Second},
		{&c.KeyTTL, "KeyTTL", time.Hour},
		{&c.KeyLease, "KeyLease", 30 * time.Second},
		{&c.Poll, "Poll", time.Second},
	} {
		if *d.value < 0 {
			return c, &rondo.Error{Code: rondo.CodeInvalid, Op: "chat.New", Message: d.name + " is negative", Hint: "leave it out for the default"}
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	if c.Sweepers <= 0 {
		c.Sweepers = 8
	}
	if c.MaxText <= 0 {
		c.MaxText = 4000
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 1024
	}
	if c.DefaultDefinition == "" {
		c.DefaultDefinition = "default"
	}
	if len(c.AllowedActions) == 0 {
		c.AllowedActions = []string{"Action.Submit", "Action.OpenUrl"}
	}
	switch c.Unknown {
	case "":
		c.Unknown = UnknownRefuse
	case UnknownRefuse, UnknownInitialise:
	default:
		return c, &rondo.Error{Code: rondo.CodeInvalid, Op: "chat.New", Message: "Unknown is neither refuse nor initialise"}
	}
	return c, nil
}

// randomID is a UUID of version 4.
func randomID() string {
	var id rondo.ID
	_, _ = rand.Read(id[:]) // never fails: it ends the process rather than give weak ids
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// unobserved is an Observer that looks away.
type unobserved struct{}

func (unobserved) Turn(string, time.Duration, time.Duration, error) {}
func (unobserved) Contended()                                       {}
func (unobserved) Lost()                                            {}
func (unobserved) Fired(time.Duration)                              {}
