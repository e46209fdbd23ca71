package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
)

// Finished instances are kept for as long as the policy of their organisation
// says, or the policy of all without one of their own; without either, for ever.
const (
	retentionTick  = time.Minute
	retentionBatch = 100    // instances that one call of the store removes
	retentionSweep = 10_000 // instances that one sweep removes of one policy
	// leastKept is how long every finished instance is kept: events that are still
	// on the bus may be delivered again, and must find what they did.
	leastKept = 7 * 24 * time.Hour
)

// RetentionPolicies returns what concerns the principal's organisation: the policy
// of all without one of their own, and its own.
func (e *Engine) RetentionPolicies(ctx context.Context, p rondo.Principal) ([]rondo.RetentionPolicy, error) {
	all, err := e.store.RetentionPolicies(ctx)
	if err != nil {
		return nil, rondo.Op("read retention policies", err)
	}
	var found []rondo.RetentionPolicy
	for _, policy := range all {
		if policy.OrgID == "" || policy.OrgID == p.Tenant {
			found = append(found, policy)
		}
	}
	return found, nil
}

// PutRetentionPolicy stores the policy of the principal's organisation, or with
// everyone that of all without one of their own.
func (e *Engine) PutRetentionPolicy(ctx context.Context, p rondo.Principal, policy rondo.RetentionPolicy, everyone bool) (rondo.RetentionPolicy, error) {
	if !p.Admin() {
		return rondo.RetentionPolicy{}, onlyAdmin("retention policies", "ask an admin to set it")
	}
	if least := e.leastKept(); policy.KeepFinished != 0 && policy.KeepFinished < least {
		return rondo.RetentionPolicy{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "finished instances cannot go so soon",
			Hint: fmt.Sprintf("keep them for at least %d days, or 0 for ever", wholeDays(least)),
			Fields: []rondo.FieldError{{
				Code: "out_of_range", Pointer: "/keep_finished_days",
				Message: fmt.Sprintf("keep_finished_days must be 0 or at least %d: events of that age may still be delivered again", wholeDays(least)),
			}},
		}
	}
	policy.OrgID, policy.UpdatedBy, policy.UpdatedAt = p.Tenant, p.User, e.now()
	if everyone {
		policy.OrgID = ""
	}
	if err := e.store.PutRetentionPolicy(ctx, policy); err != nil {
		return rondo.RetentionPolicy{}, rondo.Op("store a retention policy", err)
	}
	return policy, nil
}

func (e *Engine) leastKept() time.Duration { return max(leastKept, e.retention) }

func wholeDays(d time.Duration) int { return int((d + 24*time.Hour - 1) / (24 * time.Hour)) }

// runRetention removes what is past its time, now and then. Any number of replicas
// may do so at once: an instance goes once.
func (e *Engine) runRetention(ctx context.Context) {
	for ctx.Err() == nil {
		if err := e.purgeFinished(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("removing finished instances", "error", err)
		}
		pause(ctx, retentionTick, nil)
	}
}

// purgeFinished applies every policy once.
func (e *Engine) purgeFinished(ctx context.Context) error {
	policies, err := e.store.RetentionPolicies(ctx)
	if err != nil {
		return rondo.Op("read retention policies", err)
	}
	var own []string // organisations that the policy of all does not concern
	for _, policy := range policies {
		if policy.OrgID != "" {
			own = append(own, policy.OrgID)
		}
	}
	for _, policy := range policies {
		if policy.KeepFinished <= 0 {
			continue
		}
		before := e.now().Add(-max(policy.KeepFinished, e.leastKept()))
		if err := e.purgeBefore(ctx, policy.OrgID, own, before); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) purgeBefore(ctx context.Context, org string, except []string, before time.Time) error {
	for purged := 0; purged < retentionSweep && ctx.Err() == nil; {
		n, err := e.store.Purge(ctx, org, except, before, retentionBatch)
		if n > 0 && e.observer != nil {
			e.observer.Committed(Commit{Purged: n})
		}
		if err != nil {
			return rondo.Op("purge", err)
		}
		if n < retentionBatch {
			return nil
		}
		purged += n
	}
	return nil
}
