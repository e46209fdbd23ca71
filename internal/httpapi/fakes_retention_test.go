package httpapi_test

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

// retention is the policy that the fake was given, and for whom.
type retention struct {
	policy   rondo.RetentionPolicy
	everyone bool
}

var _ httpapi.Retention = (*fake)(nil)

func (f *fake) RetentionPolicies(_ context.Context, p rondo.Principal) ([]rondo.RetentionPolicy, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	return []rondo.RetentionPolicy{
		{KeepFinished: 0, UpdatedBy: "root", UpdatedAt: start},
		{OrgID: p.Tenant, KeepFinished: 90 * 24 * time.Hour, Reason: "the law", UpdatedBy: "ann", UpdatedAt: start},
	}, nil
}

func (f *fake) PutRetentionPolicy(_ context.Context, p rondo.Principal, policy rondo.RetentionPolicy, everyone bool) (rondo.RetentionPolicy, error) {
	if err := f.begin(p); err != nil {
		return rondo.RetentionPolicy{}, err
	}
	f.retention = retention{policy, everyone}
	policy.OrgID, policy.UpdatedBy, policy.UpdatedAt = p.Tenant, p.User, start
	if everyone {
		policy.OrgID = ""
	}
	return policy, nil
}
