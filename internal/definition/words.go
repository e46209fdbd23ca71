package definition

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
)

// pointer writes a JSON Pointer (RFC 6901) for the given reference tokens.
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(token))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// compareFields orders problems by place, then code, then text, so that a
// report reads the same every time.
func compareFields(a, b rondo.FieldError) int {
	return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// list writes "a, b or c".
func list(words []string, last string) string {
	switch len(words) {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return out
}

// quote shows a word that came from outside: quoted, escaped and not endless.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// suggestion returns `; did you mean "x"?` when a known word is near, else "".
func suggestion(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "; did you mean " + quote(near) + "?"
	}
	return ""
}

// nearest returns the known word that was most likely meant, or "": one that
// differs by a few letters, else the only one that says the same and more, or
// less (retries for max_retries).
func nearest(word string, known []string) string {
	if len(word) > 100 || slices.Contains(known, word) {
		return ""
	}
	lower := strings.ToLower(word)
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, candidate := range known {
		if d := distance(lower, strings.ToLower(candidate), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" || len(word) < 2 {
		return best
	}
	for _, fits := range []func(candidate string) bool{
		func(candidate string) bool { return strings.HasPrefix(candidate, lower+"_") },
		func(candidate string) bool { return strings.HasSuffix(candidate, "_"+lower) },
		func(candidate string) bool { return strings.Contains("_"+candidate+"_", "_"+lower+"_") },
		func(candidate string) bool { return strings.Contains("_"+lower+"_", "_"+candidate+"_") },
	} {
		var found []string
		for _, candidate := range known {
			if candidate != "" && fits(candidate) {
				found = append(found, candidate)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return ""
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b, or limit when it is not less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return min(previous[len(b)], limit)
}
