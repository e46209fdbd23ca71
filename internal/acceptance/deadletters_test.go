package acceptance

import (
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
)

type letterBody struct {
	ID     string `json:"id"`
	OrgID  string `json:"org_id"`
	Reason string `json:"reason"`
	Status string `json:"status"`
	Body   string `json:"body"`
	Note   string `json:"note"`
}

// settleLetters looks at the open dead letters as people do. Two name the
// organisation and are its own to settle; the others are an admin's. One is an
// event that only came on the wrong stream and can be replayed. The rest still are
// no events: they can only be discarded.
func (n *tenant) settleLetters() {
	n.t.Helper()
	admin := n.rest().as("root", rondo.ScopeAdmin)
	var own, all listBody[letterBody]
	n.must(http.StatusOK, n.rest().get("/events/dead-letters?status=open"), "list dead letters").into(&own)
	n.must(http.StatusOK, admin.get("/events/dead-letters?status=open&limit=100"), "list everyone's dead letters").into(&all)
	if len(own.Items) != 2 || len(all.Items) < 5 {
		n.t.Fatalf("on %s: the organisation sees %+v, an admin %+v; want 2 of 5", n.w.ground.where(), own.Items, all.Items)
	}
	for _, letter := range all.Items {
		path := "/events/dead-letters/" + letter.ID
		if strings.Contains(letter.Reason, "came on the stream") {
			n.replayLetter(path)
			continue
		}
		caller := n.rest()
		if letter.OrgID != n.org {
			n.must(http.StatusNotFound, caller.get(path), "inspect a letter that names nobody")
			n.must(http.StatusNotFound, caller.post(path+"/discard", because("x")), "discard a letter that names nobody")
			caller = admin
		}
		var found letterBody
		n.must(http.StatusOK, caller.get(path), "inspect a dead letter").into(&found)
		if found.Reason == "" || found.Status != "open" {
			n.t.Errorf("on %s: the letter tells %+v", n.w.ground.where(), found)
		}
		n.must(http.StatusConflict, caller.post(path+"/replay", nil), "replay what still is no event")
		n.must(http.StatusOK, caller.post(path+"/discard", because("sender is mended")), "discard a dead letter").into(&found)
		if found.Status != "discarded" || found.Note != "sender is mended" {
			n.t.Errorf("on %s: the discarded letter is %+v", n.w.ground.where(), found)
		}
		n.must(http.StatusConflict, caller.post(path+"/replay", nil), "replay what was discarded")
		n.must(http.StatusConflict, caller.post(path+"/discard", because("again")), "discard it again")
	}
	n.must(http.StatusOK, admin.get("/events/dead-letters?status=open"), "list dead letters").into(&all)
	if len(all.Items) != 0 {
		n.t.Errorf("on %s: %+v are still open", n.w.ground.where(), all.Items)
	}
}

// replayLetter replays an event that the case has no use for.
func (n *tenant) replayLetter(path string) {
	n.t.Helper()
	var found letterBody
	n.must(http.StatusOK, n.rest().get(path), "inspect a dead letter").into(&found)
	if found.Reason == "" || !strings.Contains(found.Body, n.org) {
		n.t.Errorf("on %s: the letter tells %+v", n.w.ground.where(), found)
	}
	var replayed struct {
		Letter  letterBody  `json:"dead_letter"`
		Receipt receiptBody `json:"receipt"`
	}
	n.must(http.StatusOK, n.rest().post(path+"/replay", nil), "replay what is an event").into(&replayed)
	if replayed.Letter.Status != "replayed" || replayed.Receipt.Outcome != rondo.OutcomeUnmatched {
		n.t.Errorf("on %s: the replay answered %+v", n.w.ground.where(), replayed)
	}
	n.must(http.StatusConflict, n.rest().post(path+"/discard", because("x")), "discard what was replayed")
}
