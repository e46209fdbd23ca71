package sqlstore

import (
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// VersionConflict says that the stored instance is not the one that was decided
// upon. It wraps store.ErrConflict.
func VersionConflict(driver string, cause error) error {
	err := store.ErrConflict
	if cause != nil {
		err = fmt.Errorf("%w (%w)", store.ErrConflict, cause)
	}
	return &rondo.Error{
		Code: rondo.CodeConflict, Op: driver + ": update",
		Message: "an instance changed meanwhile", Hint: "load the case again and decide anew", Err: err,
	}
}

// Forbidden says that the database refused a row that the data model forbids.
func Forbidden(op string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeConflict, Op: op,
		Message: "the database refuses a second row of the same key", Hint: "load again and decide anew", Err: cause,
	}
}

// Unknown says that a row to change is not there.
func Unknown(op, what string) error {
	return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: what + " is not in the ledger"}
}

// Unavailable says that the database cannot be used now.
func Unavailable(op string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op,
		Message: "the database cannot be used", Hint: "check that it runs and that the URL is right", Err: cause,
	}
}

// TooLarge says that the database does not take values of that size.
func TooLarge(op string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeTooLarge, Op: op,
		Message: "the data is larger than the database accepts", Hint: "send less at once, or raise the limit of the database", Err: cause,
	}
}

// Internal says that the database refused something for a reason that no other
// word fits: the statement or its values are to blame, not the database's state.
func Internal(op string, cause error) error {
	return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "the database refused the statement", Err: cause}
}

// Ambiguous says that a commit may have happened.
func Ambiguous(op string, cause error) error {
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: "the outcome of the commit is unknown",
		Hint: "load again: what was committed is there", Err: fmt.Errorf("%w: %w", store.ErrAmbiguous, cause),
	}
}
