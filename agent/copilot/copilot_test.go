package copilot_test

import (
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
)

// posted is what a server was asked.
type posted struct{ path, body string }

// play is an agent whose server answers with a stream. What the server was asked
// last is there once the answer is.
func play(t *testing.T, conversation, stream string) (a agent.Agent, last *atomic.Pointer[posted]) {
	t.Helper()
	last = new(atomic.Pointer[posted])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		last.Store(&posted{r.URL.Path, string(text)})
		if conversation != "" {
			w.Header().Set("x-ms-conversationid", conversation)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(server.Close)
	return connect(t, server.URL, nil), last
}

const end = "event: end\ndata: end\n\n"

func TestTheRecordedStart(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(agenttest.NewCopilot(nil))
	t.Cleanup(server.Close)
	heard := agenttest.Listen(t, connect(t, server.URL, nil).Start(t.Context(), agent.Session{ConversationID: "c"}))
	if heard.Err != nil || heard.Session != agenttest.CopilotSession {
		t.Fatalf("session %q, %v, want %s", heard.Session, heard.Err, agenttest.CopilotSession)
	}
	if diff := cmp.Diff([]string{"Hello, I'm **Contoso Help**. What can I do for you?"}, heard.Texts()); diff != "" {
		t.Errorf("the greeting (-want +got):\n%s", diff)
	}
}

func TestTheRecordedTurn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(agenttest.NewCopilot(nil))
	t.Cleanup(server.Close)
	known := agent.Session{AgentSession: agenttest.CopilotSession}
	heard := agenttest.Listen(t, connect(t, server.URL, nil).Send(t.Context(), known, rondo.Activity{Text: "returns?"}))
	if heard.Err != nil || heard.Session != "" {
		t.Fatalf("session %q, %v, want no news and no error", heard.Session, heard.Err)
	}
	const text = "You can return an item within **30 days** [1]. May I have your name?"
	if diff := cmp.Diff(map[string]string{"e45b0c89-b6ff-4e39-83fb-4360582ed95f": text}, heard.Deltas); diff != "" {
		t.Errorf("the pieces (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{text, ""}, heard.Texts()); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
	var kinds []string
	for _, activity := range heard.Activities {
		kinds = append(kinds, activity.Type)
	}
	if diff := cmp.Diff([]string{"typing", "typing", "event", "message", "message"}, kinds); diff != "" {
		t.Fatalf("the activities (-want +got):\n%s", diff)
	}
	message, card := heard.Activities[3], heard.Activities[4]
	if !strings.Contains(string(message.Value), `"topic":"returns"`) || len(message.Entities) != 3 || message.SuggestedActions == nil {
		t.Errorf("the message is %+v, want value, entities and suggested actions", message)
	}
	if len(card.Attachments) != 1 || card.Attachments[0].ContentType != rondo.AdaptiveCardType {
		t.Errorf("the second message is %+v, want a card", card)
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	a, last := play(t, "", end)
	for name, test := range map[string]struct {
		call func() iter.Seq2[agent.Chunk, error]
		want posted
	}{
		"start": {
			func() iter.Seq2[agent.Chunk, error] { return a.Start(t.Context(), agent.Session{AgentSession: "old"}) },
			posted{"/conversations", `{"emitStartConversationEvent":true}`},
		},
		"a turn": {
			func() iter.Seq2[agent.Chunk, error] {
				return a.Send(t.Context(), agent.Session{AgentSession: "c/1", Locale: "de-DE"}, rondo.Activity{Text: "hi"})
			},
			posted{"/conversations/c/1", `{"activity":{"type":"message","conversation":{"id":"c/1"},"text":"hi","locale":"de-DE"}}`},
		},
		"a card turn": {
			func() iter.Seq2[agent.Chunk, error] {
				return a.Send(t.Context(), agent.Session{AgentSession: "c"}, rondo.Activity{Type: "message", Value: []byte(`{"cardId":"1"}`)})
			},
			posted{"/conversations/c", `{"activity":{"type":"message","conversation":{"id":"c"},"value":{"cardId":"1"}}}`},
		},
		"a turn without a conversation": {
			func() iter.Seq2[agent.Chunk, error] {
				return a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})
			},
			posted{"/conversations", `{"activity":{"type":"message","text":"hi"}}`},
		},
	} {
		agenttest.Listen(t, test.call())
		if got := *last.Load(); got != test.want {
			t.Errorf("%s posts %s to %s, want %s to %s", name, got.body, got.path, test.want.body, test.want.path)
		}
	}
}

func TestTheConversationsID(t *testing.T) {
	t.Parallel()
	activity := func(json string) string { return "event: activity\ndata: " + json + "\n\n" }
	typing := activity(`{"type":"typing","conversation":{"id":"typing"}}`)
	message := activity(`{"type":"message","conversation":{"id":"first"}}`) + activity(`{"type":"message","conversation":{"id":"second"}}`)
	for name, test := range map[string]struct{ header, stream, known, want string }{
		"by header":             {"header", message, "", "header"},
		"by the first message":  {"", typing + message, "", "first"},
		"known":                 {"c", message, "c", ""},
		"known without header":  {"", message, "c", ""},
		"another by header":     {"d", message, "c", "d"},
		"nowhere":               {"", activity(`{"type":"message"}`), "", ""},
		"in an empty answer":    {"header", "", "", "header"},
		"nowhere but in typing": {"", typing, "", ""},
	} {
		a, _ := play(t, test.header, test.stream+end)
		heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{AgentSession: test.known}, rondo.Activity{Text: "hi"}))
		if heard.Err != nil || heard.Session != test.want {
			t.Errorf("%s: the session is %q, %v, want %q", name, heard.Session, heard.Err, test.want)
		}
	}
}

func TestAnIDThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	byHeader, _ := play(t, long, end)
	byMessage, _ := play(t, "", `event: activity`+"\n"+`data: {"type":"message","conversation":{"id":"`+long+`"}}`+"\n\n"+end)
	for name, a := range map[string]agent.Agent{"header": byHeader, "message": byMessage} {
		heard := agenttest.Listen(t, a.Start(t.Context(), agent.Session{}))
		if agent.KindOf(heard.Err) != agent.KindTooLarge || heard.Session != "" || heard.Activities != nil {
			t.Errorf("by %s: %v, want too large and nothing else", name, heard.Err)
		}
	}
}

func TestPiecesOfText(t *testing.T) {
	t.Parallel()
	piece := func(id, text, info, channel string) string {
		return `event: activity` + "\n" + `data: {"type":"typing","id":"` + id + `","text":"` + text + `","entities":["odd",{"type":"other"},{"type":"streaminfo"` +
			info + `}],"channelData":` + channel + "}\n\n"
	}
	const streaming, delta = `,"streamType":"streaming","streamId":"s"`, `{"chunkType":"delta"}`
	for name, test := range map[string]struct {
		stream string
		want   map[string]string
		whole  int // activities
	}{
		"pieces alone":       {piece("1", "a", streaming, delta) + piece("2", "a", streaming, delta), map[string]string{"s": "aa"}, 0},
		"the text so far":    {piece("1", "a", streaming, "null") + piece("2", "ab", streaming, "{}") + piece("3", "ab", streaming, "7"), map[string]string{"s": "ab"}, 0},
		"pieces not so said": {piece("1", "a", streaming, "null") + piece("2", "b", streaming, "null"), map[string]string{"s": "ab"}, 0},
		"no id": {
			piece("1", "a", `,"streamType":"streaming"`, delta) + piece("2", "b", `,"streamType":"streaming"`, delta), map[string]string{"1": "ab"}, 0,
		},
		"the first has no id": {piece("s", "a", `,"streamType":"streaming"`, delta) + piece("2", "b", streaming, delta), map[string]string{"s": "ab"}, 0},
		"two streams": {
			piece("1", "a", streaming, delta) + piece("2", "x", `,"streamType":"streaming","streamId":"z"`, delta) + piece("3", "b", streaming, delta),
			map[string]string{"s": "ab", "z": "x"},
			0,
		},
		"in channel data":  {piece("1", "a", "", `{"streamType":"streaming","streamId":"c","chunkType":"delta"}`), map[string]string{"c": "a"}, 0},
		"empty pieces":     {piece("1", "", streaming, delta), map[string]string{}, 0},
		"not the text":     {piece("1", "Searching", `,"streamType":"informative"`, "null"), map[string]string{}, 1},
		"no stream at all": {piece("1", "a", "", "null"), map[string]string{}, 1},
	} {
		a, _ := play(t, "", test.stream+end)
		heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"}))
		if diff := cmp.Diff(test.want, heard.Deltas); diff != "" || heard.Err != nil || len(heard.Activities) != test.whole {
			t.Errorf("%s: %d activities, %v, pieces (-want +got):\n%s", name, len(heard.Activities), heard.Err, diff)
		}
	}
}

func TestOddMembersOfActivitiesThatNobodyReadsDoNoHarm(t *testing.T) {
	t.Parallel()
	for activity, tolerated := range map[string]bool{
		`{"type":"trace","code":5,"name":{},"from":"x"}`:     true,
		`{"type":"handoff","timestamp":5}`:                   true,
		`{"type":"message","text":5}`:                        false,
		`{"type":"endOfConversation","code":5}`:              false,
		`{"type":"message","text":"hi","attachments":["x"]}`: false,
		`{"type":5}`: false,
		`5`:          false,
	} {
		a, _ := play(t, "", "event: activity\ndata: "+activity+"\n\n"+end)
		heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"}))
		switch {
		case tolerated && (heard.Err != nil || len(heard.Activities) != 1):
			t.Errorf("%s: %d activities, %v, want one", activity, len(heard.Activities), heard.Err)
		case !tolerated && agent.KindOf(heard.Err) != agent.KindMalformed:
			t.Errorf("%s: %v, want malformed", activity, heard.Err)
		}
	}
}

func TestAStreamMayEndWithoutSayingSo(t *testing.T) {
	t.Parallel()
	// Its framing says that it is whole: only the event is missing.
	a, _ := play(t, "", "event: activity\ndata: {\"type\":\"message\",\"text\":\"hi\"}\n\n")
	if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})); heard.Err != nil || len(heard.Texts()) != 1 {
		t.Errorf("%q, %v, want the message", heard.Texts(), heard.Err)
	}
	// It may also stop within the event that says so.
	for _, last := range []string{"event: end\n", "event: end", "event: end\r\ndata: end\r\n", "data: end\nevent: end"} {
		a, _ = play(t, "", "event: activity\ndata: {\"type\":\"message\",\"text\":\"hi\"}\n\n"+last)
		if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})); heard.Err != nil || len(heard.Texts()) != 1 {
			t.Errorf("%q: %q, %v, want the message", last, heard.Texts(), heard.Err)
		}
	}
	for _, last := range []string{"event: en", "event: activity\ndata: {\"type\":\"message\",\"text\":\"more\"}\n"} {
		a, _ = play(t, "", "event: activity\ndata: {\"type\":\"message\",\"text\":\"hi\"}\n\n"+last)
		if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})); heard.Err == nil {
			t.Errorf("%q: %q, want an error", last, heard.Texts())
		}
	}
	// What follows the end is not read.
	a, _ = play(t, "", end+"event: activity\ndata: {\"type\":\"message\",\"text\":\"late\"}\n\n")
	if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"})); heard.Err != nil || len(heard.Texts()) != 0 {
		t.Errorf("%q, %v, want nothing", heard.Texts(), heard.Err)
	}
}

func TestAStreamThatOnlyItsConnectionEndsIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	// Nothing says whether another activity would have followed.
	for last, kind := range map[string]agent.ErrorKind{"": agent.KindMalformed, "event: end\n": agent.KindUnreachable} {
		client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Close: true,
				Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body:   io.NopCloser(strings.NewReader("event: activity\ndata: {\"type\":\"message\",\"text\":\"hi\"}\n\n" + last)),
			}, nil
		})}
		heard := agenttest.Listen(t, connect(t, "http://agent.test", client).Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"}))
		if agent.KindOf(heard.Err) != kind {
			t.Errorf("%q: %q, %v, want %s", last, heard.Texts(), heard.Err, kind)
		}
	}
}
