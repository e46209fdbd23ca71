package embedded_test

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// A module of the same process listens to what the engine commits.
func Example() {
	ctx := context.Background()
	db := memory.Open(memory.Options{Embedded: true})
	b := embedded.New(db, embedded.Options{})
	defer b.Close()

	module, err := b.Subscribe(ctx, bus.Subscription{Group: "consent", Streams: []string{"consent.requested"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer module.Close()

	// What the engine does: commit, then report what the commit wrote to the log.
	outbox := []rondo.Outgoing{{Stream: "consent.requested", OrgID: "clinic", Envelope: []byte(`{"case_id":"c1"}`)}}
	committed, err := db.Update(ctx, store.Load{}, func(*store.Loaded) (*store.Write, error) {
		return &store.Write{Outbox: outbox, Acks: b.TakeAcks()}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	outbox[0].Seq = committed.Seqs[0]
	b.Committed(outbox)

	deliveries, err := module.Fetch(ctx, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range deliveries {
		fmt.Println(d.Stream, string(d.Envelope))
	}
	if err := module.Ack(ctx, deliveries); err != nil {
		fmt.Println(err)
	}
	// Output: consent.requested {"case_id":"c1"}
}
