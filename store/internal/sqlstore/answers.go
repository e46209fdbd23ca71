package sqlstore

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
)

const answerColumns = "org_id, name, request, status, header, body, created_at"

func readAnswer(values []any) (rondo.Answer, error) {
	r := reader{values: values}
	a := rondo.Answer{
		OrgID: r.text(), Key: r.text(), Request: r.text(), Status: int(r.int()), Header: r.bytes(), Body: r.bytes(), CreatedAt: r.time(),
	}
	return a, wrapRead("answer", r.err)
}

// ReserveAnswer implements store.Answers. The row is inserted in a transaction
// of its own: whoever comes second finds it, or is refused by its key and looks
// again.
func (c *Cold) ReserveAnswer(ctx context.Context, reserved rondo.Answer) (rondo.Answer, bool, error) {
	stored, found, err := c.answer(ctx, reserved.OrgID, reserved.Key)
	if err != nil || found {
		return stored, false, err
	}
	err = c.write(ctx, "reserve answer", func(s session) error {
		return s.insert(ctx, "answers", answerColumns, reserved.OrgID, reserved.Key, reserved.Request, int64(0), nil, nil, Micros(reserved.CreatedAt))
	})
	if rondo.CodeOf(err) == rondo.CodeConflict {
		if stored, found, again := c.answer(ctx, reserved.OrgID, reserved.Key); again != nil || found {
			return stored, false, again
		}
	}
	if err != nil {
		return rondo.Answer{}, false, err
	}
	reserved.Status, reserved.Header, reserved.Body = 0, nil, nil
	return reserved, true, nil
}

func (c *Cold) answer(ctx context.Context, org, key string) (rondo.Answer, bool, error) {
	found, err := list(ctx, c.reader(), readAnswer, "SELECT "+answerColumns+" FROM answers WHERE org_id = ? AND name = ?", org, key)
	if err != nil || len(found) == 0 {
		return rondo.Answer{}, false, c.wrap("read answer", err)
	}
	return found[0], true, nil
}

// KeepAnswer implements store.Answers.
func (c *Cold) KeepAnswer(ctx context.Context, a rondo.Answer) error {
	return c.write(ctx, "keep answer", func(s session) error {
		_, err := s.exec(ctx, "UPDATE answers SET status = ?, header = ?, body = ? WHERE org_id = ? AND name = ?",
			int64(a.Status), document(a.Header), document(a.Body), a.OrgID, a.Key)
		return err
	})
}

// DropAnswer implements store.Answers.
func (c *Cold) DropAnswer(ctx context.Context, org, key string) error {
	return c.write(ctx, "drop answer", func(s session) error {
		_, err := s.exec(ctx, "DELETE FROM answers WHERE org_id = ? AND name = ? AND status = 0", org, key)
		return err
	})
}

// ForgetAnswers implements store.Answers.
func (c *Cold) ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error) {
	old, err := list(ctx, c.reader(), readAnswer,
		"SELECT "+answerColumns+" FROM answers WHERE created_at < ? ORDER BY created_at LIMIT ?", Micros(before), int64(limit))
	if err != nil || len(old) == 0 {
		return 0, c.wrap("list old answers", err)
	}
	err = c.write(ctx, "forget answers", func(s session) error {
		for i := range old {
			if _, err := s.exec(ctx, "DELETE FROM answers WHERE org_id = ? AND name = ?", old[i].OrgID, old[i].Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(old), nil
}
