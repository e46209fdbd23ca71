package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Retention is what the edge needs to say how long finished instances are kept.
type Retention interface {
	// RetentionPolicies returns the policies that concern the principal's
	// organisation: that of all without one of their own, and its own.
	RetentionPolicies(ctx context.Context, p rondo.Principal) ([]rondo.RetentionPolicy, error)
	// PutRetentionPolicy stores a policy: that of the principal's organisation, or
	// with everyone that of all without one of their own.
	PutRetentionPolicy(ctx context.Context, p rondo.Principal, policy rondo.RetentionPolicy, everyone bool) (rondo.RetentionPolicy, error)
}

// retentionPolicy is a policy on the wire.
type retentionPolicy struct {
	OrgID            *string `json:"org_id" doc:"Null: every organisation without a policy of its own"`
	KeepFinishedDays int     `json:"keep_finished_days" doc:"0: for ever"`
	Reason           *string `json:"reason"`
	UpdatedBy        string  `json:"updated_by"`
	UpdatedAt        instant `json:"updated_at"`
}

// newRetentionPolicy documents the body of PUT /retention-policies.
type newRetentionPolicy struct {
	KeepFinishedDays int    `json:"keep_finished_days" minimum:"0" maximum:"36500" doc:"0: for ever; else at least 7"`
	Everyone         bool   `json:"everyone,omitempty" doc:"The policy of every organisation without one of its own. Default false"`
	Reason           string `json:"reason,omitempty" maxLength:"4096"`
}

type (
	policyOut   struct{ Body retentionPolicy }
	policiesOut struct{ Body page[retentionPolicy] }
)

const day = 24 * time.Hour

func (a *API) registerRetention(r *registrar) {
	handle(r, "list-retention-policies", nil, a.listPolicies)
	handle(r, "put-retention-policy", newRetentionPolicy{}, a.putPolicy)
}

func viewPolicy(p rondo.RetentionPolicy) retentionPolicy {
	return retentionPolicy{
		OrgID: maybe(p.OrgID), KeepFinishedDays: int(p.KeepFinished / day), Reason: maybe(p.Reason), UpdatedBy: p.UpdatedBy, UpdatedAt: instant(p.UpdatedAt),
	}
}

func (a *API) listPolicies(ctx context.Context, c *call) (*policiesOut, error) {
	policies, err := a.cfg.Retention.RetentionPolicies(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listPolicies, viewed(policies, viewPolicy), func(p retentionPolicy) string {
		if p.OrgID == nil {
			return ""
		}
		return *p.OrgID
	})
	return &policiesOut{Body: body}, err
}

func (a *API) putPolicy(ctx context.Context, c *call) (*policyOut, error) {
	var policy rondo.RetentionPolicy
	everyone := false
	if err := decode(c.body, days("keep_finished_days", &policy.KeepFinished), truth("everyone", &everyone), member{name: "reason", text: &policy.Reason}); err != nil {
		return nil, err
	}
	stored, err := a.cfg.Retention.PutRetentionPolicy(ctx, c.principal, policy, everyone)
	if err != nil {
		return nil, err
	}
	return &policyOut{Body: viewPolicy(stored)}, nil
}

// maxDays is a hundred years: what is to be kept for longer is kept for ever.
const maxDays = 36500

// days is a required member that takes a number of whole days.
func days(name string, into *time.Duration) member {
	return member{name: name, required: true, raw: func(value []byte) *rondo.FieldError {
		var n int
		if json.Unmarshal(value, &n) != nil {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be a whole number"}
		}
		if n < 0 || n > maxDays {
			return &rondo.FieldError{Code: "out_of_range", Pointer: "/" + name, Message: name + " must be 0 to 36500"}
		}
		*into = time.Duration(n) * day
		return nil
	}}
}
