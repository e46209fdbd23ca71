package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// path leads from a value to one inside it; empty, it is the value itself.
type path []pathPart

// pathPart is a member, or without a name an element.
type pathPart struct {
	name  string
	index int
}

// maxPath bounds the parts of a path.
const maxPath = 64

// wholeValue is the path that is written where a selector must have one and means
// everything: {"trigger": "$"} is the whole payload. "$.a" is "a".
const wholeValue = "$"

// parsePath reads "a.b[0].c". Names have neither dots nor brackets.
func parsePath(text string) (path, error) {
	rest := strings.TrimPrefix(text, wholeValue)
	if rest != text {
		if rest == "" {
			return path{}, nil
		}
		if rest[0] == '.' && len(rest) > 1 && rest[1] != '[' {
			rest = rest[1:]
		} else if rest[0] != '[' {
			rest = text // a name that begins with $
		}
	}
	var way path
	for first := true; rest != ""; first = false {
		if len(way) == maxPath {
			return nil, fmt.Errorf("a path has at most %d parts", maxPath)
		}
		if rest[0] == '[' {
			digits, after, closed := strings.Cut(rest[1:], "]")
			n, err := strconv.ParseUint(digits, 10, 31)
			if !closed || err != nil || digits[0] == '+' {
				return nil, fmt.Errorf("the path %q has a [ that is not followed by a number and ]", text)
			}
			way, rest = append(way, pathPart{index: int(n)}), after
			continue
		}
		if !first {
			if rest[0] != '.' {
				return nil, fmt.Errorf("the path %q needs a dot behind ]", text)
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, ".[]")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 || end < len(rest) && rest[end] == ']' {
			return nil, fmt.Errorf("the path %q has a part without a name; write e.g. data.items[0].title", text)
		}
		way, rest = append(way, pathPart{name: rest[:end]}), rest[end:]
	}
	if len(way) == 0 {
		return nil, fmt.Errorf(`a path is empty; write %q for everything`, wholeValue)
	}
	return way, nil
}
