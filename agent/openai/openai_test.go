package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/openai"
)

// ask sends a text to a model whose server is handler.
func ask(t *testing.T, handler http.HandlerFunc) *agenttest.Heard {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return agenttest.Listen(t, connect(t, server.URL, nil).Send(t.Context(), agent.Session{}, rondo.Activity{Text: agenttest.UserText}))
}

func TestAStructuredAnswerIsOneMessageWithAValue(t *testing.T) {
	t.Parallel()
	const object = `{"data":{"name":"Zoë"},"prompt":"Hi \"Zoë\" \ud83d\ude00","action":"ask","confidence":0.90,"extra":1}`
	heard := ask(t, streamed(chunks(t, object)...))
	if heard.Err != nil || len(heard.Activities) != 1 {
		t.Fatalf("%+v, %v, want one activity", heard.Activities, heard.Err)
	}
	got := heard.Activities[0]
	if want := `Hi "Zoë" 😀`; got.Text != want || string(got.Value) != object || got.Type != rondo.ActivityMessage || got.From.Role != "bot" {
		t.Errorf("the message is %+v, want the text %q and the object as it was written", got, want)
	}
	if diff := cmp.Diff(map[string]string{got.ID: got.Text}, heard.Deltas); diff != "" {
		t.Errorf("the pieces (-want +got):\n%s", diff)
	}
}

func TestAnAnswerWithoutAPromptIsPlainText(t *testing.T) {
	t.Parallel()
	for content, text := range map[string]string{
		"Just text.":                     "Just text.",
		"{name}, hello":                  "{name}, hello",
		`"quoted"`:                       `"quoted"`,
		`[1]`:                            `[1]`,
		"```json\n{\"a\":1}\n```":        "```json\n{\"a\":1}\n```",
		`{"action":"ask"} and then some`: `{"action":"ask"} and then some`,
		// Objects that would show the person nothing.
		`{"amount":12,"prompt":7}`:            `{"amount":12,"prompt":7}`,
		`{"action":"ask","data":{"a":1}}`:     `{"action":"ask","data":{"a":1}}`,
		`{"prompt":" ","data":{"a":1}}`:       `{"prompt":" ","data":{"a":1}}`,
		`{"prompt":null,"action":"complete"}`: `{"prompt":null,"action":"complete"}`,
	} {
		heard := ask(t, streamed(chunks(t, content)...))
		if heard.Err != nil || len(heard.Activities) != 1 || heard.Activities[0].Text != text || heard.Activities[0].Value != nil {
			t.Errorf("%q: %+v, %v, want the text and no value", content, heard.Activities, heard.Err)
		}
	}
}

func TestHowAnAnswerEnds(t *testing.T) {
	t.Parallel()
	done := agenttest.Event{Data: "[DONE]"}
	object := chunk(t, `{"prompt":"hi","action":"ask"}`, nil)
	refusal := agenttest.Event{Data: `{"choices":[{"index":0,"delta":{"refusal":"I cannot help with that."},"finish_reason":null}]}`}
	usage := agenttest.Event{Data: `{"choices":[],"usage":{"total_tokens":7}}`}
	second := agenttest.Event{Data: `{"choices":[{"index":1,"delta":{"content":"another"},"finish_reason":"length"}]}`}
	for name, test := range map[string]struct {
		events []agenttest.Event
		text   string
		kind   agent.ErrorKind
	}{
		"stop":                       {[]agenttest.Event{object, chunk(t, "", "stop"), usage, done}, "hi", ""},
		"stop alone":                 {[]agenttest.Event{object, chunk(t, "", "stop")}, "hi", ""},
		"done alone":                 {[]agenttest.Event{object, done}, "hi", ""},
		"neither":                    {[]agenttest.Event{object}, "", agent.KindMalformed},
		"another choice":             {[]agenttest.Event{object, second, chunk(t, "", "stop"), done}, "hi", ""},
		"out of room":                {[]agenttest.Event{object, chunk(t, "", "length"), done}, "", agent.KindTooLarge},
		"filtered":                   {[]agenttest.Event{chunk(t, "", "content_filter"), done}, "", agent.KindRefused},
		"refused":                    {[]agenttest.Event{refusal, chunk(t, "", "stop"), done}, "I cannot help with that.", ""},
		"nothing":                    {[]agenttest.Event{chunk(t, "", "stop"), done}, "", agent.KindMalformed},
		"an error on the way":        {[]agenttest.Event{object, {Data: `{"error":{"type":"server_error","message":"x"}}`}}, "", agent.KindRefused},
		"an event that is an error":  {[]agenttest.Event{object, {Name: "error", Data: `{"type":"overloaded"}`}}, "", agent.KindRefused},
		"an error that is not there": {[]agenttest.Event{{Data: `{"error":null,"choices":[]}`}, object, done}, "hi", ""},
	} {
		heard := ask(t, streamed(test.events...))
		texts := strings.Join(heard.Texts(), "|")
		if agent.KindOf(heard.Err) != test.kind || texts != test.text || (heard.Err == nil) != (test.kind == "") {
			t.Errorf("%s: %q, %v, want %q, %q", name, texts, heard.Err, test.text, test.kind)
		}
	}
	for reason, kind := range map[string]agent.ErrorKind{"length": agent.KindTooLarge, "content_filter": agent.KindRefused} {
		heard := ask(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, completion(t, `{"prompt":"hi"}`, reason))
		})
		if agent.KindOf(heard.Err) != kind || heard.Texts() != nil {
			t.Errorf("JSON, %s: %q, %v, want %s", reason, heard.Texts(), heard.Err, kind)
		}
	}
}

type asked struct {
	path     string
	Model    string
	Stream   bool
	Messages []struct{ Role, Content string }
	Format   struct {
		Type   string
		Schema struct {
			Name   string
			Strict *bool
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
}

func TestWhatTheModelIsTold(t *testing.T) {
	t.Parallel()
	requests := make(chan asked, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := asked{path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		requests <- got
		streamed(chunks(t, "ok")...)(w, r)
	}))
	t.Cleanup(server.Close)
	a := connect(t, server.URL+"/v1/", nil)
	said := func(role, text string) rondo.NormalizedMessage {
		return rondo.NormalizedMessage{Role: role, Kind: rondo.MessageText, Text: text}
	}
	history := []rondo.NormalizedMessage{
		said("user", "too long ago"), said("assistant", "What is your name?"), {Role: "assistant", Kind: rondo.MessageCard}, said("user", "Zoë"),
	}
	agenttest.Listen(t, a.Send(t.Context(), agent.Session{History: history, Instructions: "Be brief."}, rondo.Activity{Text: "and now?"}))
	got := <-requests
	if got.path != "/v1/chat/completions" || got.Model != "small" || !got.Stream || got.Format.Type != "json_schema" || got.Format.Schema.Name == "" {
		t.Errorf("it is asked %+v", got)
	}
	var told []string
	for _, message := range got.Messages[1:] {
		told = append(told, message.Role+": "+message.Content)
	}
	if diff := cmp.Diff([]string{"assistant: What is your name?", "user: Zoë", "user: and now?"}, told); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
	if system := got.Messages[0]; system.Role != "system" || !strings.HasPrefix(system.Content, "Be brief.") || !strings.Contains(system.Content, "`action`") {
		t.Errorf("the instructions are %+v, want the definition's and the form of answers", system)
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(got.Format.Schema.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"action", "prompt", "data", "confidence", "citations"} {
		if schema.Properties[member] == nil {
			t.Errorf("the schema has no %s", member)
		}
	}
	own := json.RawMessage(`{"type":"object","properties":{"mood":{"type":"string"}}}`)
	agenttest.Listen(t, a.Send(t.Context(), agent.Session{OutputSchema: own}, rondo.Activity{Value: json.RawMessage(`{"cardId":"1"}`)}))
	got = <-requests
	if string(got.Format.Schema.Schema) != string(own) || strings.Contains(got.Messages[0].Content, "`action`") {
		t.Errorf("a schema of the definition's own is sent as %s, with %q", got.Format.Schema.Schema, got.Messages[0].Content)
	}
	if last := got.Messages[len(got.Messages)-1].Content; last != `{"cardId":"1"}` {
		t.Errorf("a submitted card is sent as %q", last)
	}
	if a.Remembers() != 3 {
		t.Errorf("it wants %d messages, want 3", a.Remembers())
	}
}

func TestADefinitionChoosesTheModel(t *testing.T) {
	t.Parallel()
	requests := make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got map[string]any
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		requests <- got
		streamed(chunks(t, "ok")...)(w, r)
	}))
	t.Cleanup(server.Close)
	a := connect(t, server.URL, nil)
	for _, test := range []struct {
		binding     string
		model       string
		temperature any
	}{
		{"", "small", nil},
		{`{"provider":"openai","instructions":"Be brief."}`, "small", nil},
		{`{"provider":"openai","model":"large","temperature":0}`, "large", 0.0},
		{`{"provider":"openai","temperature":0.7}`, "small", 0.7},
	} {
		heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{Binding: json.RawMessage(test.binding)}, rondo.Activity{Text: "hi"}))
		if got := <-requests; got["model"] != test.model || got["temperature"] != test.temperature {
			t.Errorf("%s: it is asked for model %v at temperature %v", test.binding, got["model"], got["temperature"])
		}
		if len(heard.Activities) != 1 || heard.Activities[0].From.Name != test.model {
			t.Errorf("%s: it answers %+v, want one message of %s", test.binding, heard.Activities, test.model)
		}
	}
	heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{Binding: json.RawMessage(`{"model":5}`)}, rondo.Activity{Text: "hi"}))
	if agent.KindOf(heard.Err) != agent.KindMalformed || len(requests) != 0 {
		t.Errorf("a model that is no text: %v, want malformed before anything is sent", heard.Err)
	}
}

func TestASchemaThatIsNoJSONIsNotSent(t *testing.T) {
	t.Parallel()
	stub := agenttest.NewOpenAI(nil)
	server := httptest.NewServer(stub)
	t.Cleanup(server.Close)
	session := agent.Session{OutputSchema: json.RawMessage(`{`)}
	heard := agenttest.Listen(t, connect(t, server.URL, nil).Send(t.Context(), session, rondo.Activity{Text: "hi"}))
	if agent.KindOf(heard.Err) != agent.KindMalformed || stub.Calls() != 0 {
		t.Errorf("%v after %d calls, want malformed after none", heard.Err, stub.Calls())
	}
}

func TestTheGreetingAsksNoModel(t *testing.T) {
	t.Parallel()
	stub := agenttest.NewOpenAI(nil)
	server := httptest.NewServer(stub)
	t.Cleanup(server.Close)
	heard := agenttest.Listen(t, connect(t, server.URL, nil).Start(t.Context(), agent.Session{}))
	if diff := cmp.Diff([]string{"Hello!"}, heard.Texts()); diff != "" || heard.Err != nil || stub.Calls() != 0 {
		t.Errorf("%d calls, %v, greeting (-want +got):\n%s", stub.Calls(), heard.Err, diff)
	}
}

func TestAServerWithoutKeysIsShownNone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown := r.Header.Get("Authorization"); shown != "" {
			t.Errorf("it is shown %q, want nothing", shown)
		}
		streamed(chunks(t, "ok")...)(w, r)
	}))
	t.Cleanup(server.Close)
	a, err := openai.New(openai.Config{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})); heard.Err != nil {
		t.Error(heard.Err)
	}
	if a.Remembers() != 40 {
		t.Errorf("it wants %d messages, want 40", a.Remembers())
	}
}

func TestAConfigurationThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]openai.Config{
		"no model": {}, "no URL": {Model: "m", BaseURL: "api"}, "a file": {Model: "m", BaseURL: "file://host/v1"},
	} {
		if _, err := openai.New(cfg); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%s: %v, want code invalid", name, err)
		}
	}
	if _, err := openai.New(openai.Config{Model: "m"}); err != nil {
		t.Errorf("a model alone: %v, want no error", err)
	}
}
