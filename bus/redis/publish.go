package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/bus"
)

// publishTimeout bounds a pipeline that carries the messages of several callers,
// and so is bound to none of their contexts.
const publishTimeout = 10 * time.Second

// publisher lets callers that publish at the same time share a pipeline: while
// one is under way the others gather, and one of them sends for all. A lone
// caller sends at once. It has no goroutine of its own.
type publisher struct {
	client *redis.Client
	keys   keys
	known  sync.Map // streams to measure: those published to, and those found

	mu      sync.Mutex
	sending bool           // someone has the lead
	waiting []*publication // gathered meanwhile
}

// publication is what one caller wants sent.
type publication struct {
	messages []bus.Message
	lead     chan struct{} // closed: send everything that waits, yourself included
	done     chan struct{} // closed: err tells how it went
	err      error
}

// publish returns when the messages are in their streams. When ctx ends before
// that is known, they may or may not be; a caller that sends for others does so
// to the end.
func (p *publisher) publish(ctx context.Context, messages []bus.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := &publication{messages: messages, lead: make(chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, own)
	if !p.sending {
		p.sending = true
		close(own.lead)
	}
	p.mu.Unlock()
	select {
	case <-own.done:
		return own.err
	case <-own.lead:
	case <-ctx.Done():
		if p.withdraw(own) {
			return ctx.Err()
		}
		select {
		case <-own.lead: // the others rely on it
		default:
			return ctx.Err() // it is being sent
		}
	}
	p.sendAll(ctx)
	return own.err
}

// withdraw takes back what has not been sent nor been given the lead.
func (p *publisher) withdraw(own *publication) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-own.lead:
		return false
	default:
	}
	for i, w := range p.waiting {
		if w == own {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// sendAll sends what has gathered, then gives the lead to the next.
func (p *publisher) sendAll(ctx context.Context) {
	p.mu.Lock()
	batch := p.waiting
	p.waiting = nil
	p.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for _, w := range batch {
		for i := range w.messages {
			p.know(w.messages[i].Stream)
			_ = pipe.Process(ctx, p.command(ctx, &w.messages[i])) // each command has its own error
		}
	}
	commands, _ := pipe.Exec(ctx)
	for _, w := range batch {
		for _, command := range commands[:len(w.messages)] {
			if err := command.Err(); err != nil && w.err == nil {
				w.err = err
			}
		}
		commands = commands[len(w.messages):]
		close(w.done)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending = len(p.waiting) > 0
	if p.sending {
		close(p.waiting[0].lead)
	}
}

func (p *publisher) command(ctx context.Context, m *bus.Message) redis.Cmder {
	args := []any{"xadd", p.keys.stream(m.Stream), "*", fieldEnvelope, m.Envelope}
	if m.Relayed {
		args = append(args, fieldRelayed, "1")
	}
	if m.Own {
		args = append(args, fieldOwn, "1")
	}
	return redis.NewStatusCmd(ctx, args...)
}
