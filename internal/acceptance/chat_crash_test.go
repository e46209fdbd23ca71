package acceptance

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// waiting is a conversation that moves by itself when nobody says anything.
const waiting = `{"name":"waiting","steps":["open","late"],"machine":{"id":"waiting","initial":"open","states":{
	"open":{"after":{"2000":"late"},"on":{"STAY":"open"}},"late":{}}},
	"signals":[{"when":"turn.nextAction == 'never'","event":"STAY"}]}`

// TestAKilledServerGoesOnWhereEveryConversationStood kills the real program
// between two turns and inside one.
func TestAKilledServerGoesOnWhereEveryConversationStood(t *testing.T) {
	t.Parallel()
	for _, kept := range chatStores() {
		t.Run(kept.String(), func(t *testing.T) {
			t.Parallel()
			g := newChatGround(t, kept)
			agent := newStubAgent(t)
			p := serveChat(t, g, agent, "--chat-lease", "1s")
			id := p.startChat(t, "")
			p.say(t, id, "name: Ann")
			before := p.conversation(t, id)

			p.kill()
			p.start(t)
			if diff := cmp.Diff(before, p.conversation(t, id)); diff != "" {
				t.Fatalf("after a kill between turns (-before +after):\n%s", diff)
			}

			held := agent.holdBack("topic: billing")
			answered := make(chan error, 1)
			go func() {
				_, _, err := p.sendChat(id, "topic: billing")
				answered <- err
			}()
			<-held.arrived
			p.kill()
			<-answered // the connection broke
			close(held.release)
			p.start(t)
			if diff := cmp.Diff(before, p.conversation(t, id)); diff != "" {
				t.Fatalf("after a kill inside a turn there must be nothing of it (-before +after):\n%s", diff)
			}

			p.sayWhenFree(t, id, "topic: delivery")
			after := p.conversation(t, id)
			if want := map[string]string{"name": "Ann", "topic": "delivery"}; !cmp.Equal(want, after.WorkflowState.CollectedData) || after.WorkflowState.TurnCount != 2 {
				t.Errorf("after two turns it knows %v in %d turns, want %v", after.WorkflowState.CollectedData, after.WorkflowState.TurnCount, want)
			}
			want := []string{"assistant: Hello.", "user: name: Ann", "assistant: Go on.", "user: topic: delivery", "assistant: Go on."}
			if diff := cmp.Diff(want, after.texts()); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			heard := agent.heard("session-1")
			if len(heard) != 3 || !strings.Contains(heard[2], `{"name":"Ann"}`) {
				t.Errorf("the agent's own conversation heard %q; the last must come with what was collected before", heard)
			}
		})
	}
}

// TestATimerOutlivesTheServerThatSetIt kills the program while a timer runs.
func TestATimerOutlivesTheServerThatSetIt(t *testing.T) {
	t.Parallel()
	for _, kept := range chatStores() {
		t.Run(kept.String(), func(t *testing.T) {
			t.Parallel()
			g := newChatGround(t, kept)
			agent := newStubAgent(t)
			p := serveChat(t, g, agent)
			p.publishConversation(t, waiting)
			id := p.startChat(t, "waiting")
			p.kill()
			p.start(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if !poll(ctx, func() bool { return p.conversation(t, id).WorkflowState.Step == "late" }) {
				t.Fatalf("the timer never fired\n%s", p.errors)
			}
			var turns struct {
				Items []struct {
					Kind string `json:"kind"`
				} `json:"items"`
			}
			p.chat(t, "/api/chat/conversations/"+id+"/turns", nil, http.StatusOK, &turns)
			fired := 0
			for _, turn := range turns.Items {
				if turn.Kind == "timer" {
					fired++
				}
			}
			if fired != 1 {
				t.Errorf("it fired %d times, want once: %v", fired, turns)
			}
		})
	}
}

// TestAProcessThatStandsStillLosesItsTurn stops a process in the middle of a turn
// for longer than its lease. The database of each process is its own: only the
// conversations are shared, so that a stopped process holds no lock of a file.
func TestAProcessThatStandsStillLosesItsTurn(t *testing.T) {
	t.Parallel()
	agent := newStubAgent(t)
	g := newGround(t, pair{store: "sqlite", redis: true})
	other := newGround(t, pair{store: "sqlite"})
	stopped := serveChat(t, chatGround{flags: []string{"--database", g.database, "--redis", g.redisURL}}, agent, "--chat-lease", "500ms")
	running := serveChat(t, chatGround{flags: []string{"--database", other.database, "--redis", g.redisURL}}, agent, "--chat-lease", "500ms")
	id := stopped.startChat(t, "")

	held := agent.holdBack("color: red")
	type reply struct {
		status int
		body   []byte
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		status, body, err := stopped.sendChat(id, "color: red")
		replies <- reply{status, body, err}
	}()
	<-held.arrived
	stopped.process.Signal(syscall.SIGSTOP)
	running.sayWhenFree(t, id, "color: blue")
	stopped.process.Signal(syscall.SIGCONT)
	close(held.release)

	got := <-replies
	var problem struct {
		Code string `json:"code"`
	}
	if got.err != nil || got.status != http.StatusConflict || json.Unmarshal(got.body, &problem) != nil || problem.Code != "lease_lost" {
		t.Errorf("the turn that lost its lease was answered %d %s %v, want 409 lease_lost", got.status, got.body, got.err)
	}
	after := running.conversation(t, id)
	if after.WorkflowState.CollectedData["color"] != "blue" || slices.Contains(after.texts(), "user: color: red") || after.WorkflowState.TurnCount != 1 {
		t.Errorf("something of the lost turn was written: %+v", after)
	}
}

// sayWhenFree says something as soon as a lease that nobody renews has run out.
func (p *program) sayWhenFree(t *testing.T, id, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var status int
	var answer []byte
	if !poll(ctx, func() bool {
		var err error
		status, answer, err = p.sendChat(id, text)
		return err == nil && status != http.StatusConflict
	}) || status != http.StatusOK {
		t.Fatalf("send %q when it is free: %d %s\n%s", text, status, answer, p.errors)
	}
}

// publishConversation makes a source the active conversation definition of its
// name.
func (p *program) publishConversation(t *testing.T, source string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"kind": "conversation", "definition": json.RawMessage(source)})
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := p.call(http.MethodPost, "/workflow-definitions", body)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create conversation definition: %d %s %v", status, answer, err)
	}
	var d definitionBody
	if err := json.Unmarshal(answer, &d); err != nil {
		t.Fatal(err)
	}
	if status, answer, err = p.call(http.MethodPost, "/workflow-definitions/"+d.ID+"/publish", []byte(`{}`)); err != nil || status != http.StatusOK {
		t.Fatalf("publish conversation definition: %d %s %v", status, answer, err)
	}
}
