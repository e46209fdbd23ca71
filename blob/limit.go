package blob

import (
	"strconv"

	"github.com/rondo-engine/rondo"
)

// TooLarge is the error for more bytes than a caller wants to have stored.
func TooLarge(limit int64) error {
	return &rondo.Error{
		Code: rondo.CodeTooLarge, Op: "put blob", Message: "an artifact is larger than " + strconv.FormatInt(limit, 10) + " bytes",
		Hint: "make it smaller, or let the skill store it elsewhere and name its uri",
	}
}
