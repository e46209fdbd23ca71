package httpapi

import (
	"context"
	"encoding/base64"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// DeadLetters is what the edge needs of the entries that could not be applied.
// org is the organisation that an admin named; "" is every organisation for an
// admin, and for everyone else their own. A letter of an unknown organisation is
// an admin's only.
type DeadLetters interface {
	// DeadLetters lists newest first.
	DeadLetters(ctx context.Context, p rondo.Principal, filter store.DeadLetterFilter, page store.Page) ([]rondo.DeadLetter, error)
	DeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID) (rondo.DeadLetter, error)
	// ReplayDeadLetter applies what is an event now; what still is none, and a
	// letter that is settled, is CodeWrongState.
	ReplayDeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID) (rondo.DeadLetter, rondo.Receipt, error)
	DiscardDeadLetter(ctx context.Context, p rondo.Principal, org string, id rondo.ID, reason string) (rondo.DeadLetter, error)
}

// DeadLetter is a dead letter on the wire.
type DeadLetter struct {
	ID         string       `json:"id" format:"uuid"`
	OrgID      *string      `json:"org_id" doc:"Null when the entry does not say whose it is"`
	Stream     string       `json:"stream" doc:"The event type of the stream that it came on"`
	EntryID    string       `json:"entry_id" doc:"The bus's own id of the entry"`
	Reason     string       `json:"reason" doc:"Why it could not be applied"`
	Size       int          `json:"size" doc:"Bytes of the body"`
	ReceivedAt instant      `json:"received_at"`
	Status     string       `json:"status" enum:"open,replayed,discarded"`
	SettledBy  *string      `json:"settled_by" doc:"Who replayed or discarded it"`
	SettledAt  maybeInstant `json:"settled_at"`
	Note       *string      `json:"note" doc:"Replayed: the outcome. Discarded: the reason"`
}

func viewDeadLetter(d rondo.DeadLetter) DeadLetter {
	return DeadLetter{
		ID: d.ID.String(), OrgID: maybe(d.OrgID), Stream: d.Stream, EntryID: d.EntryID, Reason: d.Reason, Size: len(d.Body), ReceivedAt: instant(d.ReceivedAt),
		Status: string(d.Status), SettledBy: maybe(d.SettledBy), SettledAt: maybeInstant(d.SettledAt), Note: maybe(d.Note),
	}
}

// deadLetterDetail is a dead letter with what it holds.
type deadLetterDetail struct {
	DeadLetter
	Body         string `json:"body"`
	BodyEncoding string `json:"body_encoding" enum:"text,base64" doc:"base64 when the body is not text"`
	Truncated    bool   `json:"truncated" doc:"Only the first 256 KiB are shown"`
}

// maxShown is how much of a body is shown: whatever is larger never was an event.
const maxShown = 256 << 10

func viewDeadLetterDetail(d rondo.DeadLetter) deadLetterDetail {
	out := deadLetterDetail{DeadLetter: viewDeadLetter(d), BodyEncoding: "text", Truncated: len(d.Body) > maxShown}
	body := d.Body[:min(len(d.Body), maxShown)]
	if out.Body = string(body); !storable(out.Body) {
		out.Body, out.BodyEncoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return out
}

// replayedLetter is what a replay did.
type replayedLetter struct {
	DeadLetter DeadLetter `json:"dead_letter"`
	Receipt    receipt    `json:"receipt" doc:"What became of the event"`
}

// discard documents the body of a discard.
type discard struct {
	Reason string `json:"reason" minLength:"1" maxLength:"4096"`
}

type (
	letterOut       struct{ Body DeadLetter }
	letterDetailOut struct{ Body deadLetterDetail }
	lettersOut      struct{ Body page[DeadLetter] }
	replayedOut     struct{ Body replayedLetter }
)

func (a *API) registerDeadLetters(r *registrar) {
	handle(r, "list-dead-letters", nil, a.listDeadLetters)
	handle(r, "get-dead-letter", nil, a.getDeadLetter)
	handle(r, "replay-dead-letter", nil, a.replayDeadLetter)
	handle(r, "discard-dead-letter", discard{}, a.discardDeadLetter)
}

func (a *API) listDeadLetters(ctx context.Context, c *call) (*lettersOut, error) {
	pg, err := queryPage(c.query, listLetters)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Events.DeadLetters(ctx, c.principal, store.DeadLetterFilter{
		OrgID: c.query.Get("org_id"), Status: rondo.DeadLetterStatus(c.query.Get("status")), Stream: c.query.Get("stream"),
	}, pg)
	if err != nil {
		return nil, err
	}
	id := func(d rondo.DeadLetter) rondo.ID { return d.ID }
	return &lettersOut{Body: paged(rows, pg.Limit, listLetters, id, viewDeadLetter)}, nil
}

func (a *API) getDeadLetter(ctx context.Context, c *call) (*letterDetailOut, error) {
	letter, err := a.cfg.Events.DeadLetter(ctx, c.principal, c.query.Get("org_id"), c.id)
	if err != nil {
		return nil, err
	}
	return &letterDetailOut{Body: viewDeadLetterDetail(letter)}, nil
}

func (a *API) replayDeadLetter(ctx context.Context, c *call) (*replayedOut, error) {
	letter, got, err := a.cfg.Events.ReplayDeadLetter(ctx, c.principal, c.query.Get("org_id"), c.id)
	if err != nil {
		return nil, err
	}
	return &replayedOut{Body: replayedLetter{DeadLetter: viewDeadLetter(letter), Receipt: viewReceipt(got)}}, nil
}

func (a *API) discardDeadLetter(ctx context.Context, c *call) (*letterOut, error) {
	var reason string
	if err := decode(c.body, member{name: "reason", required: true, text: &reason}); err != nil {
		return nil, err
	}
	letter, err := a.cfg.Events.DiscardDeadLetter(ctx, c.principal, c.query.Get("org_id"), c.id, reason)
	if err != nil {
		return nil, err
	}
	return &letterOut{Body: viewDeadLetter(letter)}, nil
}
