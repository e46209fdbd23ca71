package app

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/redis"
)

// conversations is the part of a server that talks with people: nil when no agent
// is configured.
type conversations struct {
	service     *chat.Service
	definitions *engine.Conversations
	worker      *engine.ConversationWorker
	store       io.Closer // Redis of its own; nil = the server's database
}

// OpenRedisConversations opens the Redis that a URL names as a store of
// conversations and checks that it can be used.
func OpenRedisConversations(ctx context.Context, address string, allowEviction bool) (*redis.Store, error) {
	s, err := redis.Open(address, redis.Options{AllowEviction: allowEviction})
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx); err != nil {
		return nil, errors.Join(rondo.Op("check redis", err), s.Close())
	}
	return s, nil
}

// StoredConversations is a database as a store of conversations.
func StoredConversations(s store.Store) (store.Conversations, error) {
	conversations, ok := s.(store.Conversations)
	if !ok {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "open conversations", Message: "this database keeps no conversations"}
	}
	return conversations, nil
}

// talk makes the server hold conversations, once its engine runs. Where they are
// kept is decided here for good: in Redis when there is one, else in the database.
func (s *server) talk(ctx context.Context) error {
	o := s.opts.Chat
	if o.Provider == "" {
		return nil
	}
	c := &conversations{definitions: s.engine.Conversations()}
	agents, err := newAgents(o, s.metrics.Chat())
	if err != nil {
		return err
	}
	var kept store.Conversations
	if s.opts.Redis != "" {
		opened, err := OpenRedisConversations(ctx, s.opts.Redis, s.opts.AllowEviction)
		if err != nil {
			return err
		}
		kept, c.store = opened, opened
	} else if kept, err = StoredConversations(s.store); err != nil {
		return err
	}
	s.chat = c // from here on close sees to it
	if c.service, err = chat.New(chat.Config{
		Store: kept, Definitions: c.definitions, Agents: agents, DefaultAgent: o.Provider,
		Relay: s.engine.Relay(), Observer: s.metrics.Chat(), Log: s.opts.Log,
		TTL: o.TTL, Lease: o.Lease, AgentTimeout: o.AgentTimeout, Poll: o.Poll, MaxText: o.MaxText, MaxInFlight: o.InFlight,
		Unknown: o.Unknown, AllowedActions: o.AllowedActions, AllowedDomains: o.AllowedDomains,
	}); err != nil {
		return err
	}
	c.service.Start()
	c.worker = s.engine.ConversationWorker(c.service)
	return c.worker.Start(ctx)
}

// stop ends the conversations' work in order: no more requests of cases, then the
// turns under way.
func (c *conversations) stop(ctx context.Context) error {
	if c == nil || c.service == nil {
		return nil
	}
	var errs []error
	if c.worker != nil {
		errs = append(errs, c.worker.Stop())
	}
	return errors.Join(append(errs, c.service.Stop(ctx))...)
}

// close lets go of what conversations stood on.
func (c *conversations) close() error {
	if c == nil || c.store == nil {
		return nil
	}
	return c.store.Close()
}

// turnLimit is how long a request of the chat API may take: the agent's time, and
// some for everything around it.
func (o ChatOptions) turnLimit() time.Duration {
	const around = 15 * time.Second
	return max(o.AgentTimeout, 30*time.Second)*2 + around
}

// offerChat opens the chat API of the edge. Without an agent its routes say that
// there is none.
func (s *server) offerChat(edge *httpapi.Config) {
	o := s.opts.Chat
	if len(o.CORSOrigins) > 0 {
		edge.CORSOrigins = o.CORSOrigins
	}
	if s.chat == nil {
		return
	}
	edge.Chat, edge.ChatRedis = s.chat.service, s.opts.Redis != ""
	edge.ChatAnyID = o.Unknown == chat.UnknownInitialise
}
