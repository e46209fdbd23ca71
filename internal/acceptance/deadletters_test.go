package acceptance

import (
	"net/http"

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

// settleLetters looks at the open dead letters as people do. Those that name the
// organisation are its own to read and to discard; the others are an admin's.
// None can be replayed: they still are no events.
func (n *tenant) settleLetters() {
	n.t.Helper()
	admin := n.rest().as("root", rondo.ScopeAdmin)
	var own, all listBody[letterBody]
	n.must(http.StatusOK, n.rest().get("/events/dead-letters?status=open"), "list dead letters").into(&own)
	n.must(http.StatusOK, admin.get("/events/dead-letters?status=open&limit=100"), "list everyone's dead letters").into(&all)
	if len(own.Items) != 1 || len(all.Items) < 5 {
		n.t.Fatalf("on %s: the organisation sees %+v, an admin %+v; want 1 of 5", n.w.ground.where(), own.Items, all.Items)
	}
	for _, letter := range all.Items {
		path := "/events/dead-letters/" + letter.ID
		caller := n.rest()
		if letter.OrgID != n.org {
			n.must(http.StatusNotFound, caller.get(path), "inspect a letter that names nobody")
			n.must(http.StatusNotFound, caller.post(path+"/discard", because("x")), "discard a letter that names nobody")
			caller = admin
		}
		var found letterBody
		n.must(http.StatusOK, caller.get(path), "inspect a dead letter").into(&found)
		if found.Reason == "" || found.Body == "" && letter.OrgID == n.org {
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
