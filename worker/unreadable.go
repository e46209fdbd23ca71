package worker

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// unreadable answers a request that cannot be read, so that whoever waits for it
// need not wait until its time is over. One whose heads cannot be read either is
// acked alone: nobody knows whose it is.
func (w *Worker) unreadable(d bus.Delivery, why error) answer {
	request, ok := heads(d.Envelope)
	if !ok || request.Type != d.Stream || w.cfg.Handlers[request.Type] == nil {
		return answer{delivery: d}
	}
	message := w.cfg.Reply(request, nil, &Failure{Message: "the request cannot be read: " + findings(why)}, w.cfg.Now())
	if message.EventID.IsZero() || readable(message.Envelope) != nil {
		return answer{delivery: d}
	}
	return answer{delivery: d, message: message}
}

// heads reads who asks for what of an envelope whose rest may be anything.
func heads(raw []byte) (*event.Envelope, bool) {
	var head struct {
		EventID       rondo.ID `json:"event_id"`
		Type          string   `json:"event_type"`
		CorrelationID string   `json:"correlation_id"`
		CaseID        string   `json:"case_id"`
		OrgID         string   `json:"org_id"`
		ProductID     string   `json:"product_id"`
		RunID         string   `json:"run_id"`
	}
	if json.Unmarshal(raw, &head) != nil || head.EventID.IsZero() || head.CorrelationID == "" || head.OrgID == "" {
		return nil, false
	}
	return &event.Envelope{
		EventID: head.EventID, Type: head.Type, CorrelationID: head.CorrelationID,
		CaseID: head.CaseID, OrgID: head.OrgID, ProductID: head.ProductID, RunID: head.RunID,
	}, true
}

// findings is an error with all that is wrong.
func findings(err error) string {
	words := []string{err.Error()}
	if told, ok := errors.AsType[*rondo.Error](err); ok {
		for _, f := range told.Fields {
			words = append(words, strings.TrimSpace(f.Pointer+" "+f.Message))
		}
	}
	return strings.Join(words, "; ")
}
