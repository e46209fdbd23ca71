package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// Update starts an update run.
func (s *Service) Update(ctx context.Context, p rondo.Principal, request UpdateRequest) (*rondo.Run, error) {
	return nil, errNotYet
}
