package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of what functions make.
const (
	maxWidth     = 1_000    // of a number or a text that printf fills up
	madeAlways   = 32 << 20 // bytes that a rendering's functions may make together, and
	madePerLimit = 8        // so many more for each byte of its limit
	bytesPerPart = 16       // what one element of a list takes
	perVerb      = 64       // what a number or a complaint of printf takes at most
	perByte      = 8        // what printf makes of a byte at most: %#q, % #x, %#v
)

// spend counts what functions make: variables and templates within templates hold
// many values at once.
func (r *rendering) spend(size int) error {
	r.made += int64(size)
	if r.made > madeAlways+madePerLimit*r.limit {
		return errTooLong
	}
	return nil
}

// whole passes a text on that is not too long.
func (r *rendering) whole(s string) (string, error) {
	if int64(len(s)) > r.limit {
		return "", errTooLong
	}
	return s, r.spend(len(s))
}

// bounded makes a text of arguments that are not too long together.
func (r *rendering) bounded(render func(...any) string, args ...any) (string, error) {
	if least(r.limit, args...) > r.limit {
		return "", errTooLong
	}
	return r.whole(render(args...))
}

// escaped makes a text whose escaping stops at the limit.
func (r *rendering) escaped(escape func(io.Writer, []byte)) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		plain, err := r.bounded(fmt.Sprint, args...)
		if err != nil {
			return "", err
		}
		out := &limited{left: r.limit}
		escape(out, []byte(plain))
		if out.full {
			return "", errTooLong
		}
		return r.whole(out.String())
	}
}

// limited keeps what is written up to a limit, and nothing after it.
type limited struct {
	bytes.Buffer
	left int64
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	l.left -= int64(len(p))
	if l.full = l.full || l.left < 0; l.full {
		return 0, errTooLong
	}
	return l.Buffer.Write(p)
}

// verbForm is what stands behind a percent sign: flags, width, precision, the
// argument's place, the verb.
var verbForm = regexp.MustCompile(`^[-+# 0]*(\d*)(?:\.(\d*))?(?:\[(\d+)\])?[a-zA-Z%]`)

// printf formats when the most that could come of it is near the limit: widths are
// small, and an argument counts as often as a verb names it.
func (r *rendering) printf(format string, args ...any) (string, error) {
	ceiling := madeAlways/perByte + perByte*r.limit
	most, next := int64(len(format))+least(ceiling, args...), 0 // those that no verb names are told at the end
	for rest := format; ; {
		_, behind, found := strings.Cut(rest, "%")
		if !found {
			break
		}
		verb := verbForm.FindStringSubmatch(behind)
		if verb == nil {
			return "", errors.New("printf takes verbs like %s, %5d, %.2f and %[1]q, and no width from its arguments")
		}
		if tooWide(verb[1]) || tooWide(verb[2]) {
			return "", fmt.Errorf("printf takes widths and precisions up to %d", maxWidth)
		}
		if verb[3] != "" {
			place, err := strconv.Atoi(verb[3])
			if err != nil || place < 1 || place > len(args) {
				return "", errors.New("printf names an argument that it does not have")
			}
			next = place - 1
		}
		rest = behind[len(verb[0]):]
		if strings.HasSuffix(verb[0], "%") { // takes no argument
			continue
		}
		most += perVerb
		if verb[1]+verb[2] != "" {
			most += maxWidth
		}
		if next < len(args) {
			most += perByte * least(ceiling, args[next])
		}
		if next++; most > ceiling {
			return "", errTooLong
		}
	}
	if most > ceiling {
		return "", errTooLong
	}
	return r.whole(fmt.Sprintf(format, args...))
}

func tooWide(number string) bool {
	if number == "" {
		return false
	}
	wide, err := strconv.Atoi(number)
	return err != nil || wide > maxWidth
}

// least is the least number of bytes that values take as a text; it stops counting
// above enough.
func least(enough int64, values ...any) int64 {
	var sum int64
	for _, value := range values {
		if sum > enough {
			break
		}
		switch v := value.(type) {
		case string:
			sum += int64(len(v))
		case []string:
			for i := 0; i < len(v) && sum <= enough; i++ {
				sum += int64(len(v[i])) + 1
			}
		case []any:
			sum += least(enough-sum, v...) + int64(len(v))
		case map[string]any:
			for name, member := range v {
				if sum > enough {
					break
				}
				sum += int64(len(name)) + least(enough-sum, member) + 1
			}
		default:
			if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
				sum += int64(list.Len())
			}
			sum++
		}
	}
	return sum
}
