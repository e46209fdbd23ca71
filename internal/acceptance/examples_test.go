package acceptance

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-engine/rondo/event"
)

// examples is where the workflows are that are built from kinds of their own.
const examples = "../../examples"

// What the examples publish, and what they wait for from outside.
const (
	typeBudgetCheck    = "ext.budget_check.requested"
	typeAccounts       = "ext.accounts.requested"
	typePlaceOrder     = "ext.order.place.requested"
	typeAnnouncement   = "ext.announcement.requested"
	typePurchaseDone   = "ext.purchase.done"
	typeOnboardingDone = "ext.onboarding.done"
	typeGoodsBooked    = "ext.warehouse.goods_booked"
	typeSigned         = "ext.contract.signed"
)

func exampleTypes() []string {
	return []string{typeBudgetCheck, typeAccounts, typePlaceOrder, typeAnnouncement, typePurchaseDone, typeOnboardingDone}
}

// useExample publishes the kinds of the examples and makes one of their
// workflows the active definition, all over REST.
func (n *tenant) useExample(name string) {
	n.t.Helper()
	files, err := filepath.Glob(examples + "/kinds/*.json")
	if err != nil || len(files) == 0 {
		n.t.Fatalf("%s has no kinds (%v)", examples, err)
	}
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		n.must(http.StatusCreated, n.rest().post("/step-kinds", map[string]any{"name": kind, "contract": json.RawMessage(n.read(file))}), "publish kind "+kind)
	}
	n.publish(string(n.read(examples + "/definitions/" + name + ".yaml")))
}

func (n *tenant) read(file string) []byte {
	n.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	return content
}

// answerExamples is what the modules of the examples say.
func answerExamples(request *event.Envelope) any {
	switch request.Type {
	case typeBudgetCheck:
		return map[string]any{"available": true, "left": 100}
	case typePlaceOrder:
		return map[string]any{"order_number": "po-" + request.CaseID}
	case typeAccounts:
		return map[string]any{"created": []string{"mail", "chat", "wiki"}}
	}
	return nil
}
