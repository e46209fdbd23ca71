package chat_test

import (
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := chat.Config{Store: memory.Open(memory.Options{}), Definitions: shelf{}}
	if _, err := chat.New(good); err != nil {
		t.Fatalf("the least that is needed: %v", err)
	}
	for name, change := range map[string]func(*chat.Config){
		"no store":          func(c *chat.Config) { c.Store = nil },
		"no definitions":    func(c *chat.Config) { c.Definitions = nil },
		"a negative lease":  func(c *chat.Config) { c.Lease = -time.Second },
		"an unknown answer": func(c *chat.Config) { c.Unknown = "guess" },
	} {
		bad := good
		change(&bad)
		if _, err := chat.New(bad); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}
