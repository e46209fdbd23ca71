package explain

import (
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// A stream tells a timeline as it grows. The mark of an entry is what a reader
// gives back to go on exactly there: the entry's id and, after a tilde, the
// events that were parked then, because their verdict is all that can change
// before that place.
const (
	parkedSign = "~"
	parkedSep  = ","
	parkedMost = 20  // more are not listed
	parkedAny  = "*" // there were more
	shortID    = 12  // last characters of an id: random ones
)

// Marker makes the marks of a timeline's entries.
type Marker struct{ parked string }

// Marker reads Events.
func (f Facts) Marker() Marker {
	var parked []string
	for i := range f.Events {
		if f.Events[i].Outcome != rondo.OutcomeParked {
			continue
		}
		if len(parked) == parkedMost {
			parked = append(parked, parkedAny)
			break
		}
		parked = append(parked, short(f.Events[i].ID))
	}
	if parked == nil {
		return Marker{}
	}
	return Marker{parkedSign + strings.Join(parked, parkedSep)}
}

// Mark is the mark of an entry of the timeline that the marker was made with.
func (m Marker) Mark(e *Entry) string { return e.ID + m.parked }

func short(id rondo.ID) string {
	s := id.String()
	return s[len(s)-shortID:]
}

// After returns the entries that a reader who has come as far as the mark has
// not seen as they are now, in order. A mark that is not of this timeline has
// seen nothing.
func (f Facts) After(entries []Entry, mark string) []Entry {
	last, parked, _ := strings.Cut(mark, parkedSign)
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.ID == last })
	if at < 0 {
		return entries
	}
	changed := map[string]bool{}
	listed := strings.Split(parked, parkedSep)
	for i := range f.Events {
		e := &f.Events[i]
		if parked != "" && e.Outcome != rondo.OutcomeParked && (slices.Contains(listed, short(e.ID)) || slices.Contains(listed, parkedAny)) {
			changed[eventEntry(e)] = true
		}
	}
	var out []Entry
	for i := range entries {
		if i > at || changed[entries[i].ID] {
			out = append(out, entries[i])
		}
	}
	return out
}

// eventEntry is the id of the entry of an event.
func eventEntry(e *rondo.EventRecord) string { return "event-" + e.ID.String() }
