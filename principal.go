package rondo

import "slices"

// The scopes of the case API.
const (
	ScopeRead          = "orchestrator:read"
	ScopeReadInstances = "orchestrator:read-instances"
	ScopeWrite         = "orchestrator:write"
	ScopePublish       = "orchestrator:publish"
	ScopeIntervene     = "orchestrator:intervene"
	ScopeEvents        = "orchestrator:events"
	ScopeAdmin         = "orchestrator:admin"
)

// Principal is who is asking: every call carries one.
type Principal struct {
	Tenant string
	User   string
	Scopes []string
}

// Can reports whether the principal holds the scope. Scopes match exactly; admin
// implies every scope, of runs too.
func (p Principal) Can(scope string) bool {
	return slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, ScopeAdmin)
}

// Admin reports whether the principal may act for any organisation.
func (p Principal) Admin() bool { return slices.Contains(p.Scopes, ScopeAdmin) }
