package turn

import (
	"encoding/json"
	"testing"

	"github.com/rondo-engine/rondo"
)

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`[{"type":"message","from":{"role":"bot"},"text":"{}","value":{"a":1}}]`))
	f.Add([]byte("[{\"type\":\"message\",\"from\":{\"role\":\"bot\"},\"text\":\"```json\\n{\\\"action\\\":\\\"ask\\\"}\\n```\"}]"))
	f.Add([]byte(`[{"type":"message","from":{"role":"bot"},"attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{"actions":[{"type":"Action.Submit","data":{"action":"ask"}}]}}]}]`))
	f.Add([]byte(`[{"type":"message","from":{"role":"bot"},"entities":[{"type":"https://schema.org/Message","citation":[{"appearance":{"url":"u"}}]},{"a":"` + "\xff" + `"}]}]`))
	f.Add([]byte(`[{"type":"handoff"},{"type":"endOfConversation","code":"x"}]`))
	d := shipped(f, "default")
	start := begun(f, d)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var list []rondo.Activity
		if json.Unmarshal(raw, &list) != nil {
			return
		}
		reply := Normalize(list, counted())
		if p := reply.Payload; p != nil && len(p.Data) == 0 {
			t.Error("a payload has no key")
		}
		out, err := d.Decide(Input{Before: start, Kind: rondo.TurnByText, Reply: reply, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		var read Reply
		if err := json.Unmarshal(out.Record.Reply, &read); err != nil {
			t.Fatal(err)
		}
		again, err := d.Decide(Input{Before: start, Kind: rondo.TurnByText, Reply: read, Now: noon})
		if err != nil || js(t, again.State) != js(t, out.State) {
			t.Errorf("the recorded reply leads elsewhere: %v\n%s\n%s", err, js(t, out.State), js(t, again.State))
		}
	})
}

func FuzzCompileConversation(f *testing.F) {
	for _, body := range Shipped() {
		f.Add(body)
	}
	f.Add([]byte(lamp))
	f.Add([]byte(small(`"contextTemplate":"{userMessage}{dataJson}"`, `"outputSchema":{"properties":{"data":{"properties":{"a":{}}}}}`)))
	replies := []Reply{says(`{"action":"ask","data":{"a":1}}`), talks("hm")}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, problems := Compile(body)
		if (d == nil) != (len(problems) > 0) {
			t.Fatalf("definition %v with problems %v", d, problems)
		}
		if d == nil {
			return
		}
		_ = d.Check()
		out, err := d.Start(noon, Reply{})
		if err != nil {
			return
		}
		for _, reply := range replies {
			_, _ = d.Query(out.State, "x")
			_, _ = d.Decide(Input{Before: out.State, Kind: rondo.TurnByText, Reply: reply, Now: noon})
		}
		for _, timer := range out.State.Timers {
			_, _ = d.Fire(out.State, timer.ID, timer.DueAt)
		}
	})
}
