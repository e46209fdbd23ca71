package httpapi

import (
	"encoding/base64"

	"github.com/rondo-engine/rondo"
)

// A cursor is one byte that names the list and the id of the last row shown. It
// is opaque to clients and grants nothing: the next page is filtered by
// organisation like the first.
const (
	listInstances   byte = 'i'
	listDefinitions byte = 'd'
	listEvents      byte = 'e'
	listLedger      byte = 'l'
	listLetters     byte = 'x'
	listJobs        byte = 'j'
	listJobResults  byte = 'r'
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

// whole is a list that comes in one page.
func whole[T any](items []T) page[T] {
	if items == nil {
		items = []T{}
	}
	return page[T]{Items: items}
}
