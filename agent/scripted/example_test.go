package scripted_test

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
)

func Example() {
	script, err := scripted.Parse("greeter.yaml", []byte(`
name: greeter
rules:
  - when: {text: '(?i)i am (\w+)'}
    reply:
      - text: Nice to meet you, ${1}.
        value: {action: ask, data: {name: "${1}"}}
  - reply:
      - text: Who are you?
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	greeter := scripted.New(script)
	for _, text := range []string{"hello", "I am Ada"} {
		for chunk, err := range greeter.Send(context.Background(), agent.Session{}, rondo.Activity{Text: text}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(chunk.Activity.Text)
			if chunk.Activity.Value != nil {
				fmt.Println(string(chunk.Activity.Value))
			}
		}
	}
	// Output:
	// Who are you?
	// Nice to meet you, Ada.
	// {"action":"ask","data":{"name":"Ada"}}
}
