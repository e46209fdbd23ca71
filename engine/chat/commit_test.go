package chat_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// A write whose answer was lost may still be on its way: that nothing was written
// is said only when it cannot happen any more.
func TestNothingWasWrittenIsSaidOnlyWhenItStaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		fresh, released bool
	}{
		"the lease was given back":        {released: true},
		"the lease may still be held":     {},
		"a new conversation has no lease": {fresh: true, released: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, memory.Open(memory.Options{}), nil)
				req := chat.Request{Kind: chat.KindStart}
				if !test.fresh {
					req = chat.Request{Kind: chat.KindSend, ConversationID: k.start(), Text: "hi"}
				}
				before := len(k.everything().text)
				var late func() error
				k.store.hook(func(name string, call func() error) error {
					switch {
					case name == "Commit" || name == "Create":
						late = call
						return fmt.Errorf("%w: no answer", store.ErrAmbiguous)
					case name == "Release" && !test.released:
						return errors.New("no answer")
					}
					return call()
				})
				err := k.refusal(alice, rondo.CodeUnavailable, req)
				k.store.hook(nil)
				_ = late() // it arrives after all
				written := len(k.everything().text) > before
				if known := !errors.Is(err, store.ErrAmbiguous); known && written || !known && !written {
					t.Errorf("told %q; written: %t", err, written)
				}
			})
		})
	}
}
