package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// Plan says what a run would do, and does nothing.
func (s *Service) Plan(ctx context.Context, p rondo.Principal, request Request) (Plan, error) {
	return Plan{}, errNotYet
}

// PlanUpdate says what an update run would do, and does nothing.
func (s *Service) PlanUpdate(ctx context.Context, p rondo.Principal, request UpdateRequest) (Plan, error) {
	return Plan{}, errNotYet
}
