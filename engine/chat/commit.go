package chat

import (
	"bytes"
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// commit makes the draft durable, with the answer in its record and under the
// request's key, and gives the lease back: all of it, or nothing.
func (w *work) commit(ctx context.Context, d *draft, lease store.Lease, told Answer) (Answer, error) {
	w.stopRenewing()
	now := w.now()
	d.record.Response = told.Body
	write := d.write(lease, now, w.cfg.TTL)
	write.Key = w.claim.result(told.Body, now.Add(w.cfg.KeyTTL))

	err := w.put(ctx, write)
	if errors.Is(err, store.ErrAmbiguous) {
		err = w.resolve(ctx, write, err)
	}
	switch {
	case err == nil:
	case rondo.CodeOf(err) == rondo.CodeConflict && !errors.Is(err, store.ErrConflict):
		// Only an id of the caller's own choice can be taken: by a turn beside this one.
		return Answer{}, busyError(&store.BusyError{})
	default:
		return Answer{}, storeError("writing the turn", err)
	}
	w.done = true
	w.relaySoon(ctx, d)
	return told, nil
}

// put writes a conversation that is not stored yet, or one whose lease is held.
func (s *Service) put(ctx context.Context, write *store.ConversationWrite) error {
	return s.within(ctx, func(ctx context.Context) error {
		if write.Lease == (store.Lease{}) {
			return s.store.Create(ctx, write)
		}
		return s.store.Commit(ctx, write)
	})
}

// resolve finds out what became of a commit whose answer was lost: nil when it was
// written. One that is not there may still be on its way, unless the lease that it
// needs was given back before the look.
func (s *Service) resolve(ctx context.Context, write *store.ConversationWrite, lost error) error {
	stopped := write.Lease != (store.Lease{}) && s.release(ctx, write.Lease)
	var record rondo.TurnRecord
	err := s.within(ctx, func(ctx context.Context) (err error) {
		record, err = s.store.Turn(ctx, write.Conversation.ExternalID, write.At, write.Turn.Number)
		return err
	})
	switch {
	case err == nil && bytes.Equal(record.Response, write.Turn.Response):
		return nil // it has ids that no other turn has
	case err == nil:
		return store.ErrLeaseLost
	case rondo.CodeOf(err) == rondo.CodeNotFound && stopped:
		return rondo.Op("the store lost the turn", errors.New("nothing was written"))
	default:
		return lost
	}
}
