package sqlstore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rondo-engine/rondo"
)

// The values that rows are made of: int64, float64, string, []byte and nil. Databases
// give them back as those or close relatives; reader undoes the difference.

// Micros is a time as it is stored.
func Micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// Stored is a time as it will be read back.
func Stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// ID is an id that is always there.
func ID(id rondo.ID) any { return id[:] }

// OptionalID stores the zero id as NULL.
func OptionalID(id rondo.ID) any {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

// document stores absent JSON as NULL.
func document(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return []byte(raw)
}

func flag(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

// reader takes the values of one row in order. The first value of a wrong type
// is kept in err and everything after it reads as zero.
type reader struct {
	values []any
	next   int
	err    error
}

func (r *reader) take() any {
	if r.err != nil {
		return nil
	}
	if r.next >= len(r.values) {
		r.err = fmt.Errorf("row has only %d columns", len(r.values))
		return nil
	}
	r.next++
	return r.values[r.next-1]
}

func (r *reader) fail(v any, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d is %T, not %s", r.next, v, want)
	}
}

func (r *reader) int() int64 {
	switch v := r.take().(type) {
	case nil:
		return 0
	case int64:
		return v
	case int32:
		return int64(v)
	case int16:
		return int64(v)
	case bool:
		if v {
			return 1
		}
		return 0
	case []byte:
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			r.fail(v, "an integer")
		}
		return n
	default:
		r.fail(v, "an integer")
		return 0
	}
}

// float reads a number that may be absent.
func (r *reader) float() (number float64, ok bool) {
	switch v := r.take().(type) {
	case nil:
		return 0, false
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case []byte:
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			r.fail(v, "a number")
		}
		return n, true
	default:
		r.fail(v, "a number")
		return 0, false
	}
}

func (r *reader) bool() bool { return r.int() != 0 }

func (r *reader) text() string {
	switch v := r.take().(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		r.fail(v, "text")
		return ""
	}
}

func (r *reader) bytes() []byte {
	switch v := r.take().(type) {
	case nil:
		return nil
	case []byte:
		if v == nil {
			return []byte{}
		}
		return v
	case string:
		return []byte(v)
	default:
		r.fail(v, "bytes")
		return nil
	}
}

func (r *reader) time() time.Time {
	v := r.take()
	if v == nil {
		return time.Time{}
	}
	r.next--
	return time.UnixMicro(r.int()).UTC()
}

func (r *reader) id() rondo.ID {
	switch v := r.take().(type) {
	case nil:
		return rondo.ID{}
	case [16]byte:
		return v
	case []byte:
		if len(v) == 16 {
			return rondo.ID(v)
		}
		r.fail(v, "an id of 16 bytes")
	case string:
		id, err := rondo.ParseID(v)
		if err != nil {
			r.fail(v, "an id")
		}
		return id
	default:
		r.fail(v, "an id")
	}
	return rondo.ID{}
}
