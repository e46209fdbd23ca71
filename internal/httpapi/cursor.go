package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/url"
	"slices"

	"github.com/rondo-engine/rondo"
)

// A cursor is one byte that names the list and the id of the last row shown, or
// its place and key (see pageOf). It is opaque to clients and grants nothing: the next page is filtered by
// organisation like the first.
const (
	listInstances   byte = 'i'
	listDefinitions byte = 'd'
	listEvents      byte = 'e'
	listLedger      byte = 'l'
	listLetters     byte = 'x'
	listJobs        byte = 'j'
	listJobResults  byte = 'r'
	listCodes       byte = 'c'
	listKinds       byte = 'k'
	listVersions    byte = 'v'
	listTemplates   byte = 't'
	listAttempts    byte = 's'
	listDeeds       byte = 'n'
	listRevisions   byte = 'h'
	listSchemas     byte = 'y'
	listGroups      byte = 'g'
	listPolicies    byte = 'p'
)

func formatCursor(list byte, after rondo.ID) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{list}, after[:]...))
}

func parseCursor(list byte, s string) (rondo.ID, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != 17 || raw[0] != list {
		return rondo.ID{}, false
	}
	id := rondo.ID(raw[1:])
	return id, !id.IsZero()
}

// page is one page of a list.
type page[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Cursor of the next page; null on the last"`
}

// paged cuts rows, of which one more was asked for than is shown, to a page.
func paged[R, T any](rows []R, limitPlusOne int, list byte, id func(R) rondo.ID, view func(R) T) page[T] {
	out := page[T]{Items: []T{}}
	if len(rows) >= limitPlusOne {
		rows = rows[:limitPlusOne-1]
		next := formatCursor(list, id(rows[len(rows)-1]))
		out.NextCursor = &next
	}
	for _, row := range rows {
		out.Items = append(out.Items, view(row))
	}
	return out
}

// pageOf cuts a page out of a list that is read whole: one that stays short, or
// whose order no id of a row gives. Its cursor holds the key of the last item
// shown and how many were shown up to it: where the item is gone meanwhile, the
// count says where to go on.
func pageOf[T any](q url.Values, list byte, items []T, key func(T) string) (page[T], error) {
	from := 0
	if q.Has("cursor") {
		shown, last, ok := parsePlace(list, q.Get("cursor"))
		if !ok {
			return page[T]{}, notOfThisList()
		}
		from = min(shown, len(items))
		if at := slices.IndexFunc(items, func(item T) bool { return key(item) == last }); at >= 0 {
			from = at + 1
		}
	}
	out := page[T]{Items: []T{}}
	to := min(from+queryLimit(q), len(items))
	out.Items = append(out.Items, items[from:to]...)
	if to < len(items) {
		next := formatPlace(list, to, key(items[to-1]))
		out.NextCursor = &next
	}
	return out, nil
}

func formatPlace(list byte, shown int, key string) string {
	return base64.RawURLEncoding.EncodeToString(append(binary.AppendUvarint([]byte{list}, uint64(shown)), key...))
}

func parsePlace(list byte, s string) (shown int, key string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) == 0 || raw[0] != list {
		return 0, "", false
	}
	n, size := binary.Uvarint(raw[1:])
	if size <= 0 || n == 0 || n > math.MaxInt32 {
		return 0, "", false
	}
	return int(n), string(raw[1+size:]), true
}
