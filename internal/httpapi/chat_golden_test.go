package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store/memory"
)

// shipped finds the definitions that come with Rondo and no others.
type shipped struct{}

func (shipped) Named(_ context.Context, _, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	definition, err := turn.ShippedDefinition(name)
	return definition, rondo.DefinitionRef{ID: name, Hash: "of-" + name}, err
}

func (shipped) Frozen(_ context.Context, _ string, ref rondo.DefinitionRef) (*turn.Definition, error) {
	return turn.ShippedDefinition(ref.ID)
}

// realChat is the API over the real turn service, the memory store and the
// scripted agent, at a time that stands still.
func realChat(t *testing.T, change ...func(*chat.Config)) *bench {
	t.Helper()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	cfg := chat.Config{
		Store: memory.Open(memory.Options{}), Definitions: shipped{}, Agents: map[string]agent.Agent{"scripted": scripted.New(script)}, DefaultAgent: "scripted",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return start }, AllowedDomains: []string{"example.com"},
	}
	for _, c := range change {
		c(&cfg)
	}
	service, err := chat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the turn service: %v", err)
		}
	})
	b := newBench(t, func(c *httpapi.Config) {
		c.Chat, c.ChatAnyID = service, cfg.Unknown == chat.UnknownInitialise
	})
	b.service = service
	return b
}

var (
	anyUUID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyLatency = regexp.MustCompile(`"(latencyMs|agentLatencyMs|leaseWaitMs)": ?\d+`)
)

// page is a chat page as browsers have it: it knows the ids of the answers
// before, and nothing of Rondo but names.
type browserPage struct {
	*bench
	t        *testing.T
	names    map[string]string // by id
	told     bytes.Buffer
	last     []byte
	lastCard string
}

// send sends a request as fetch does and keeps what was said. Placeholders in the
// body stand for ids of answers.
func (p *browserPage) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	p.t.Helper()
	conversation := member(p.last, "conversationId")
	fill := strings.NewReplacer("{conversation}", conversation, "{card}", p.lastCard)
	rec := p.do(method, fill.Replace(path), fill.Replace(body), append([]string{"Origin", "http://localhost:5173"}, headers...)...)
	if kind, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";"); rec.Code == 200 && kind == "application/json" {
		p.last = rec.Body.Bytes()
		if card := regexp.MustCompile(`"cardId":"([^"]+)"`).FindSubmatch(p.last); card != nil {
			p.lastCard = string(card[1])
		}
		documented := strings.Replace(fill.Replace(path), conversation, "{id}", 1)
		if conversation == "" {
			documented = path
		}
		checkDocumented(p.t, p.OpenAPI(), method, documented, rec)
	}
	fmt.Fprintf(&p.told, "%s %s %s\n%d\n%s\n\n", method, path, body, rec.Code, p.plain(rec.Body.Bytes()))
	return rec
}

func member(raw []byte, name string) string {
	var members map[string]json.RawMessage
	var value string
	if json.Unmarshal(raw, &members) == nil {
		_ = json.Unmarshal(members[name], &value)
	}
	return value
}

// plain indents JSON and gives ids names in the order in which they appear.
func (p *browserPage) plain(raw []byte) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(raw)
	}
	named := anyUUID.ReplaceAllStringFunc(pretty.String(), func(id string) string {
		if p.names[id] == "" {
			p.names[id] = fmt.Sprintf("id-%d", len(p.names)+1)
		}
		return p.names[id]
	})
	return anyLatency.ReplaceAllString(named, `"$1": 0`)
}

// TestAnExistingBrowserClientWorks plays requests as existing clients send them,
// member by member, and compares whole answers.
func TestAnExistingBrowserClientWorks(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*browserPage){
		"default": func(p *browserPage) {
			p.send("POST", "/api/chat/start", "", "Content-Type", "application/json")
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"hello","workflowContext":{"step":"initial"}}`)
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"My name is Alice"}`)
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"Billing"}`)
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"yes"}`)
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"more"}`, "X-Request-Id", "over")
		},
		"payment": func(p *browserPage) {
			p.send("POST", "/api/chat/start", `{"definition":"payment"}`)
			p.send("POST", "/api/chat/send", `{"conversationId":"{conversation}","text":"I pay 40.50 by card"}`)
			p.send("POST", "/api/chat/card-action", `{"conversationId":"{conversation}","cardId":"{card}","userSummary":"Yes","submitData":{"action":"Action.Submit","flow":"payment","decision":"yes"}}`)
			p.send("GET", "/api/chat/conversations/{conversation}", "")
		},
		"orchestrate": func(p *browserPage) {
			p.send("POST", "/api/chat/orchestrate", `{"query":"hello"}`)
			p.send("POST", "/api/chat/orchestrate", `{"query":"My name is Bob","conversationId":"{conversation}","workflowContext":{"step":"gather_info","constraints":["short","polite"],"collectedData":{"n":1.50}}}`)
			p.send("POST", "/api/chat/orchestrate", `{"query":"fail","conversationId":"{conversation}"}`, "X-Request-Id", "fail")
		},
		"refusals": func(p *browserPage) {
			p.send("POST", "/api/chat/send", `{"conversationId":"nope","text":""}`, "X-Request-Id", "a")
			p.send("POST", "/api/chat/send", `{"conversationId":"5f0c9c1e-7a54-4b6e-9d1f-2a8f3c1b7e40","text":"x"}`, "X-Request-Id", "b")
			p.send("POST", "/api/chat/start", "")
			p.send("POST", "/api/chat/card-action", `{"conversationId":"{conversation}","cardId":"x","userSummary":"","submitData":{}}`, "X-Request-Id", "c")
			p.send("POST", "/api/chat/card-action", `{"conversationId":"{conversation}","cardId":"x","userSummary":"","submitData":{"action":"Action.Submit"}}`, "X-Request-Id", "d")
			p.send("POST", "/api/chat/card-action", `{"conversationId":"{conversation}","cardId":"x","userSummary":"","submitData":{"action":"Action.OpenUrl","url":"https://evil.example/"}}`, "X-Request-Id", "e")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &browserPage{bench: realChat(t), t: t, names: map[string]string{}}
			play(p)
			golden := filepath.Join("testdata", "chat", name+".txt")
			if *update {
				if err := os.WriteFile(golden, p.told.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), p.told.String()); diff != "" {
				t.Errorf("what clients are answered changed; if that is meant, run this test with -update (-agreed +now):\n%s", diff)
			}
		})
	}
}
