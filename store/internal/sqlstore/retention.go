package sqlstore

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
)

const policyColumns = "org_id, keep_finished, reason, updated_by, updated_at"

// RetentionPolicies implements store.Retention.
func (c *Cold) RetentionPolicies(ctx context.Context) ([]rondo.RetentionPolicy, error) {
	found, err := list(ctx, c.reader(), readPolicy, "SELECT "+policyColumns+" FROM retention_policies ORDER BY org_id")
	return found, c.wrap("list retention policies", err)
}

func readPolicy(values []any) (rondo.RetentionPolicy, error) {
	r := reader{values: values}
	p := rondo.RetentionPolicy{
		OrgID: r.text(), KeepFinished: time.Duration(r.int()) * time.Microsecond, Reason: r.text(), UpdatedBy: r.text(), UpdatedAt: r.time(),
	}
	return p, wrapRead("retention policy", r.err)
}

// PutRetentionPolicy implements store.Retention. The row is made first, so that of
// two first policies of an org at once none fails.
func (c *Cold) PutRetentionPolicy(ctx context.Context, p rondo.RetentionPolicy) error {
	keep := p.KeepFinished.Microseconds()
	return c.write(ctx, "store a retention policy", func(s session) error {
		if _, err := s.exec(ctx, "INSERT INTO retention_policies ("+policyColumns+") VALUES ("+Marks(5)+") "+c.dialect.ignore("org_id"),
			p.OrgID, keep, p.Reason, p.UpdatedBy, Micros(p.UpdatedAt)); err != nil {
			return err
		}
		_, err := s.exec(ctx, "UPDATE retention_policies SET keep_finished = ?, reason = ?, updated_by = ?, updated_at = ? WHERE org_id = ?",
			keep, p.Reason, p.UpdatedBy, Micros(p.UpdatedAt), p.OrgID)
		return err
	})
}
