package embedded

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// A catch-up read asks for as many entries as fit these bounds by the average
// of the one before.
const (
	catchUpEntries = 512
	catchUpLeast   = 16
	catchUpBytes   = 4 << 20
)

// catchUp does one read for the streams that are furthest behind and have room,
// and reports whether another read is worth while now; ok is false when the
// database failed.
func (g *group) catchUp(ctx context.Context) (more, ok bool) {
	streams, names, after, upTo := g.furthestBehind()
	if len(streams) == 0 {
		return false, true
	}
	limit := catchUpEntries
	if g.average > 0 {
		limit = min(max(catchUpBytes/g.average, catchUpLeast), catchUpEntries)
	}
	rows, err := g.bus.log.LogRead(ctx, names, after, limit)
	g.reading.Report(ctx, err)
	if err != nil {
		return false, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(rows) == limit {
		upTo = rows[limit-1].Seq
	} else if len(rows) > 0 {
		upTo = max(upTo, rows[len(rows)-1].Seq)
	}
	blocked := g.pushAll(entriesOf(rows))
	for _, s := range streams {
		if !blocked[s] {
			s.read = max(s.read, upTo)
			g.settle(s)
		}
	}
	bytes := 0
	for i := range rows {
		bytes += len(rows[i].Envelope)
	}
	if len(rows) > 0 {
		g.average = bytes / len(rows)
	}
	g.wakeNext()
	for _, s := range g.streams {
		more = more || g.canCatchUp(s)
	}
	return more, true
}

func (g *group) canCatchUp(s *stream) bool {
	return s.loaded && s.behind && s.wanted > 0 && g.roomy(s)
}

// furthestBehind picks the streams that share the lowest position. Everything up
// to upTo is committed, so a read that is not cut short by its limit is complete
// up to there.
func (g *group) furthestBehind() (streams []*stream, names []string, after, upTo int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.streams {
		if !g.canCatchUp(s) {
			continue
		}
		if len(streams) > 0 && s.read > after {
			continue
		}
		if len(streams) > 0 && s.read < after {
			streams, names = nil, nil
		}
		streams, names, after = append(streams, s), append(names, s.name), s.read
	}
	return streams, names, after, g.pos
}

// pushAll pushes entries to their streams and returns the streams that had no
// room for all of theirs: those go on from what was pushed.
func (g *group) pushAll(entries []*rondo.Outgoing) (blocked map[*stream]bool) {
	for _, e := range entries {
		s := g.streams[e.Stream]
		if s == nil || !s.loaded || e.Seq <= s.read || blocked[s] {
			continue
		}
		if g.full(s) {
			if blocked == nil {
				blocked = map[*stream]bool{}
			}
			blocked[s] = true
			continue
		}
		s.push(e)
	}
	return blocked
}

// settle ends a stream's catching up when it has read as far as the group, if
// need be with the last entries from the window.
func (g *group) settle(s *stream) {
	if s.read < g.pos {
		entries, _, _ := g.bus.recent.after(s.read)
		if len(entries) == 0 || entries[len(entries)-1].Seq < g.pos {
			return // the window does not have it all: the next read will
		}
		for _, e := range entries {
			if e.Seq > g.pos {
				break
			}
			if e.Stream != s.name {
				continue
			}
			if g.full(s) {
				return
			}
			s.push(e)
		}
		s.read = g.pos
	}
	s.behind = false
}
