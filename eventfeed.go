package rondo

import (
	"context"
	"encoding/json"
)

// This file holds what the engine gives to modules that have no bus of their
// own, and to those who look after the bus.

// Delivered is one event as a module gets it.
type Delivered struct {
	EventID  ID
	Type     string
	Envelope []byte // read only
	Attempt  int    // 1 on first delivery
}

// EventFeed delivers the events of one organisation to one member of a consumer
// group. It is for one goroutine at a time, but for Close.
type EventFeed interface {
	// Next returns events that nobody of the group has acked, waiting for the first
	// until ctx ends. While too many of its events are unacked it waits too. An
	// event that stays unacked comes again after a minute, to any member. It fails
	// with CodeUnavailable when the feed is closed.
	Next(ctx context.Context) ([]Delivered, error)
	// Close ends the feed. What it gave out can still be acked for the rest of its
	// minute, and comes again only after that, to any member; if this group reads
	// the same types again meanwhile, it goes on with what is unacked.
	Close() error
}

// EventSchema says what the events of one type look like.
type EventSchema struct {
	Type        string
	PublishedBy string          // orchestrator or modules
	Schema      json.RawMessage // JSON Schema of the whole event
}

// ConsumerGroup is a group on the bus and how far it is behind.
type ConsumerGroup struct {
	Name    string
	Streams []GroupStream // by name
}

// GroupStream is how far a group is behind on one stream.
type GroupStream struct {
	Stream  string
	Unread  int64 // entries not delivered yet; -1 when the bus cannot tell
	Pending int64 // entries delivered and not acked
}
