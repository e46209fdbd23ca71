package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// TestStreamsTellEverythingOnce follows a case, and consumes events, over real
// connections that break.
func TestStreamsTellEverythingOnce(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			followACaseAcrossConnections(newTenant(t, w))
			consumeEventsAcrossConnections(newTenant(t, w))
			checkEverything(t, w.store, w.ground.where(), "after streams were read")
		})
	}
}

// heard is one server-sent event.
type heard struct{ id, name, data string }

// listener reads one stream.
type listener struct {
	n      *tenant
	events chan heard
	hangUp context.CancelFunc
	done   sync.WaitGroup
}

// serve puts the REST edge of the first replica behind a real server.
func (n *tenant) serve() (address string, end func()) {
	server := httptest.NewServer(n.w.replicas[0].api)
	return server.URL, server.Close
}

// listen opens a stream, after an id; "" = from the beginning.
func (n *tenant) listen(url, after string) *listener {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", n.rest().token())
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		n.t.Fatalf("on %s: open %s: %v %v", n.w.ground.where(), url, resp, err)
	}
	l := &listener{n: n, events: make(chan heard, 1000), hangUp: cancel}
	l.done.Go(func() {
		defer resp.Body.Close()
		defer close(l.events)
		var e heard
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data += value
			case "":
				if e.name != "" {
					l.events <- e
				}
				e = heard{}
			}
		}
	})
	return l
}

// next waits for the next event.
func (l *listener) next(what string) heard {
	l.n.t.Helper()
	select {
	case e, ok := <-l.events:
		if ok {
			return e
		}
		l.n.t.Fatalf("on %s: the stream ended before %s", l.n.w.ground.where(), what)
	case <-time.After(patience):
		l.n.t.Fatalf("on %s: waited %v in vain for %s\n%s", l.n.w.ground.where(), patience, what, l.n.w.describe(l.n.org))
	}
	return heard{}
}

// close breaks the connection.
func (l *listener) close() {
	l.hangUp()
	l.done.Wait()
}

// said is an entry of a timeline.
type said struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func followACaseAcrossConnections(n *tenant) {
	n.useTemplate("ai_with_confidence_escalation")
	n.start("followed")
	i, _ := n.instance("followed")
	address, end := n.serve()
	defer end()
	stream := address + "/workflow-instances/" + i.ID + "/stream"

	var all []said
	mark, status := "", rondo.StatusRunning
	hear := func(l *listener, until func() bool) {
		n.t.Helper()
		for !until() {
			e := l.next("the case going on")
			switch e.name {
			case "timeline":
				var entry said
				if err := json.Unmarshal([]byte(e.data), &entry); err != nil || e.id == "" {
					n.t.Fatalf("on %s: heard %+v (%v)", n.w.ground.where(), e, err)
				}
				all, mark = append(all, entry), e.id
			case "instance":
				var now instanceBody
				if err := json.Unmarshal([]byte(e.data), &now); err != nil {
					n.t.Fatalf("on %s: heard %+v (%v)", n.w.ground.where(), e, err)
				}
				status = now.Status
			}
		}
	}
	first := n.listen(stream, "")
	n.complete("followed", event.TypeConsentCheckRequested, 1, granted())
	hear(first, func() bool { return len(all) >= 3 })
	first.close()
	n.complete("followed", event.TypeImagesCheckRequested, 1, enoughImages()) // nobody listens
	second := n.listen(stream, mark)
	n.complete("followed", event.TypeAIReviewRequested, 1, reviewed(0.3))
	heardBefore := len(all)
	hear(second, func() bool { return len(all) > heardBefore })
	second.close()
	third := n.listen(stream, mark)
	n.complete("followed", event.TypeHumanReviewRequested, 1, decided("x"))
	hear(third, func() bool { return status == rondo.StatusCompleted })
	third.close()

	var timeline listBody[said]
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+i.ID+"/timeline"), "read the timeline").into(&timeline)
	if diff := cmp.Diff(timeline.Items, all); diff != "" {
		n.t.Errorf("on %s: over three connections something else was told than the timeline tells (-timeline +told):\n%s", n.w.ground.where(), diff)
	}
}

// consumeEventsAcrossConnections consumes what Rondo says once and never again by
// itself, so that whatever comes twice came twice from the stream.
func consumeEventsAcrossConnections(n *tenant) {
	n.publish(onlyAI)
	address, end := n.serve()
	url := func() string { return address + "/events/stream?group=watcher&types=" + event.TypeWorkflowStarted }
	const cases = 5
	for c := range cases {
		n.start(fmt.Sprint("consumed-", c))
	}
	first := n.listen(url(), "")
	got := n.take(first, cases)
	n.ack(got[:2]...)
	first.close() // dies with three of them
	second := n.listen(url(), "")
	n.w.clock.Advance(61 * time.Second) // so long an ack would still have counted
	n.wantSame("after the consumer died", got[2:], n.take(second, cases-2))
	n.ack(got[2])
	n.awaitLag("http:"+n.org+":watcher", cases-3) // an ack that a crash overtakes would only repeat

	// The server dies too: what was not acked comes from the next one.
	n.w.crash(n.w.replicas[0])
	second.close()
	end()
	n.w.restart(n.t, 0)
	address, end = n.serve()
	defer end()
	third := n.listen(url(), "")
	defer third.close()
	rest := n.take(third, cases-3)
	n.wantSame("after the server died", got[3:], rest)
	n.ack(rest...)
	n.start("consumed-last")
	last := n.take(third, 1, rest...)[0]
	if envelope, err := event.Parse([]byte(last.data)); err != nil || envelope.CaseID != "consumed-last" {
		n.t.Errorf("on %s: after everything was acked %s came (%v)", n.w.ground.where(), last.data, err)
	}
	n.ack(last)
}

// take reads a number of different events from a stream. What waits long for
// its ack comes again: that, and what is named, may come in between.
func (n *tenant) take(l *listener, count int, between ...heard) []heard {
	n.t.Helper()
	seen := map[string]bool{}
	for _, e := range between {
		seen[e.id] = true
	}
	var got []heard
	for len(got) < count {
		e := l.next("an event")
		if e.name != event.TypeWorkflowStarted {
			n.t.Fatalf("on %s: %+v came on the stream of %s", n.w.ground.where(), e, event.TypeWorkflowStarted)
		}
		if !seen[e.id] {
			seen[e.id] = true
			got = append(got, e)
		}
	}
	return got
}

func (n *tenant) ack(events ...heard) {
	n.t.Helper()
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.id
	}
	var done struct {
		Acked   int      `json:"acked"`
		Unknown []string `json:"unknown"`
	}
	n.must(http.StatusOK, n.rest().post("/events/acks", map[string]any{"group": "watcher", "event_ids": ids}), "ack").into(&done)
	if done.Acked != len(events) || len(done.Unknown) != 0 {
		n.t.Errorf("on %s: acking %d events answered %+v", n.w.ground.where(), len(events), done)
	}
}

// wantSame expects the same events, in whatever order.
func (n *tenant) wantSame(when string, want, got []heard) {
	n.t.Helper()
	ids := func(events []heard) map[string]bool {
		set := map[string]bool{}
		for _, e := range events {
			set[e.id] = true
		}
		return set
	}
	if diff := cmp.Diff(ids(want), ids(got)); diff != "" {
		n.t.Errorf("on %s: %s the unacked events did not come again (-want +got):\n%s", n.w.ground.where(), when, diff)
	}
}

// awaitLag waits until a group is a number of events behind, as operators see it.
func (n *tenant) awaitLag(group string, want int) {
	n.t.Helper()
	type groupBody struct {
		Name string `json:"name"`
		Lag  int    `json:"lag"`
	}
	var groups listBody[groupBody]
	n.w.await(n.t, fmt.Sprintf("group %s being %d events behind", group, want), func() bool {
		n.must(http.StatusOK, n.rest().as("root", rondo.ScopeAdmin).get("/events/groups"), "list groups").into(&groups)
		return slices.Contains(groups.Items, groupBody{group, want})
	}, func() string { return fmt.Sprintf("the groups are %+v", groups.Items) })
}
