package blob

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
)

// Failed is how drivers tell what went wrong: an error that has a code keeps it, one
// of the context stays as it is, and any other is the store's own trouble, which
// unavailable describes.
func Failed(op string, err error, unavailable func(op string, err error) error) error {
	if _, ok := errors.AsType[*rondo.Error](err); ok {
		return rondo.Op(op, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return unavailable(op, err)
}
