package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
)

// Chat is the work of the conversation benchmark: text turns of many
// conversations in a closed loop, through the real service, with an agent that
// answers at once.
type Chat struct {
	Store    store.Conversations
	InFlight int
	Warmup   time.Duration
	Window   time.Duration
	Long     int // messages in the history of the long conversation; 0 = do not measure it
	Log      *slog.Logger
}

// ChatResult is what a conversation benchmark measured.
type ChatResult struct {
	TurnsPerSecond float64 `json:"turns_per_s"`
	P50            float64 `json:"p50_ms"`
	P99            float64 `json:"p99_ms"`
	RSS            float64 `json:"rss_mb"`
	LoneP50        float64 `json:"lone_p50_ms"` // one turn at a time
	LongP50        float64 `json:"long_p50_ms"` // the same, in a conversation with a long history; 0 = not measured
	LongMessages   int     `json:"long_messages"`
}

const (
	// turnsEach is after how many turns a client goes on with a fresh conversation:
	// what is stored stays bounded, however long it runs.
	turnsEach = 50
	loneTurns = 300
)

// chatScript answers every text with the same structured object, so that a
// conversation never ends.
const chatScript = `
name: bench
greeting: [{text: "Hello."}]
rules:
  - name: always
    reply:
      - text: Tell me more.
        value: {action: ask, prompt: Tell me more., data: {topic: billing, urgent: false, amount: 12.5}}
`

// Run measures. It ends by itself, or when ctx ends.
func (c Chat) Run(ctx context.Context) (ChatResult, error) {
	script, err := scripted.Parse("bench", []byte(chatScript))
	if err != nil {
		return ChatResult{}, rondo.Op("read the script", err)
	}
	service, err := chat.New(chat.Config{
		Store: c.Store, Definitions: engine.NewConversations(nil), Log: c.Log, MaxInFlight: max(c.InFlight, 1),
		Agents: map[string]agent.Agent{"scripted": scripted.New(script)}, DefaultAgent: "scripted",
	})
	if err != nil {
		return ChatResult{}, err
	}
	service.Start()
	defer func() { _ = service.Stop(context.WithoutCancel(ctx)) }()
	var result ChatResult
	if err := c.lone(ctx, service, &result); err != nil {
		return ChatResult{}, err
	}
	return result, c.crowd(ctx, service, &result)
}

// lone measures one turn at a time, first in a young conversation, then in one
// with a long history.
func (c Chat) lone(ctx context.Context, service *chat.Service, result *ChatResult) error {
	talk, err := newTalk(ctx, service, "lone")
	if err != nil {
		return err
	}
	defer talk.forget(ctx)
	if result.LoneP50, err = talk.median(ctx, loneTurns); err != nil || c.Long == 0 {
		return err
	}
	for messages := 2 * loneTurns; messages < c.Long; messages += 2 { // what is said and what is answered
		if err := talk.turn(ctx); err != nil {
			return err
		}
	}
	result.LongMessages = max(c.Long, 2*loneTurns)
	result.LongP50, err = talk.median(ctx, loneTurns)
	return err
}

// crowd runs the closed loop: InFlight clients, each with one turn at a time.
func (c Chat) crowd(ctx context.Context, service *chat.Service, result *ChatResult) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		took    []time.Duration
		failed  atomic.Pointer[error]
		open    atomic.Bool // the window is open
	)
	client := func(user string) error {
		var own []time.Duration
		defer func() {
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		}()
		for running.Err() == nil {
			talk, err := newTalk(ctx, service, user)
			if err != nil {
				return err
			}
			for range turnsEach {
				if running.Err() != nil {
					break
				}
				begun := time.Now()
				if err := talk.turn(ctx); err != nil {
					return err
				}
				if open.Load() {
					own = append(own, time.Since(begun))
				}
			}
			talk.forget(ctx)
		}
		return nil
	}
	for i := range c.InFlight {
		clients.Go(func() {
			if err := client(fmt.Sprintf("user-%d", i)); err != nil && ctx.Err() == nil {
				failed.CompareAndSwap(nil, &err)
				stop()
			}
		})
	}
	wait(running, c.Warmup)
	open.Store(true)
	begun := time.Now()
	wait(running, c.Window)
	open.Store(false)
	window := time.Since(begun).Seconds()
	stop()
	clients.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	if len(took) == 0 {
		return fmt.Errorf("no turn was answered within %s; give it more --seconds", c.Window)
	}
	slices.Sort(took)
	result.TurnsPerSecond = round(float64(len(took)) / window)
	result.P50, result.P99, result.RSS = millis(percentile(took, 50)), millis(percentile(took, 99)), residentMB()
	return nil
}

// talk is one conversation of one user.
type talk struct {
	service *chat.Service
	caller  chat.Caller
	id      string
}

func newTalk(ctx context.Context, service *chat.Service, user string) (*talk, error) {
	t := &talk{service: service, caller: chat.Caller{Principal: rondo.Principal{Tenant: org, User: user}}}
	answer, err := service.Do(ctx, t.caller, chat.Request{Kind: chat.KindStart})
	if err != nil {
		return nil, err
	}
	var started struct {
		ConversationID string `json:"conversationId"`
	}
	err = json.Unmarshal(answer.Body, &started)
	t.id = started.ConversationID
	return t, err
}

func (t *talk) turn(ctx context.Context) error {
	_, err := t.service.Do(ctx, t.caller, chat.Request{Kind: chat.KindSend, ConversationID: t.id, Text: "I have a question about my last bill."})
	return err
}

// median is the time that half of n turns stay below.
func (t *talk) median(ctx context.Context, n int) (float64, error) {
	took := make([]time.Duration, 0, n)
	for range n {
		begun := time.Now()
		if err := t.turn(ctx); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return millis(percentile(took, 50)), nil
}

// forget erases the conversation; one that stays expires.
func (t *talk) forget(ctx context.Context) {
	_ = t.service.Delete(context.WithoutCancel(ctx), t.caller, t.id)
}
