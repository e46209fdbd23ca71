package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/store"
)

const (
	// livePoll is how often a stream looks for what other replicas committed.
	livePoll = time.Second
	// liveNewest is how many instances of an organisation that look covers.
	liveNewest = 100
	// liveBacklog is how many changed instances may wait for the reader of a
	// stream before it is cut. Only liveHeld of them are held in memory; the others
	// are read when it is their turn.
	liveBacklog = 10_000
	liveHeld    = 500
)

// Live is one thing that a stream says: an instance that changed, or an entry of
// a timeline with its mark. Neither means that nothing happened for a while.
type Live struct {
	Instance *rondo.Instance
	Entry    *explain.Entry
	Mark     string // what to give back to go on after the entry
}

// FollowInstance tells the timeline of an instance as it grows, after the mark,
// and the instance whenever it changes, first as it is. It returns when say
// fails, ctx ends or the engine stops. What this replica commits is told at once,
// what others commit within about a second.
func (e *Engine) FollowInstance(ctx context.Context, p rondo.Principal, id rondo.ID, mark string, say func(Live) error) error {
	w := e.live.watch(p.Tenant, id)
	defer e.live.leave(w)
	told := teller{say: say, mark: mark}
	for {
		f, err := e.wholeFacts(ctx, p.Tenant, id)
		if err == nil {
			err = told.tell(f)
		}
		if err != nil {
			return err
		}
		if err := e.untilMoved(ctx, w, &f, say); err != nil {
			return err
		}
	}
}

// untilMoved waits until there is something to tell about an instance.
func (e *Engine) untilMoved(ctx context.Context, w *watcher, f *explain.Facts, say func(Live) error) error {
	for {
		woken, err := w.wait(ctx)
		if err != nil || woken {
			return err
		}
		if moved, err := e.moved(ctx, w.org, f); err != nil || moved {
			return err
		}
		if err := say(Live{}); err != nil {
			return err
		}
	}
}

// moved reports, cheaply, whether an instance or its ledger has grown.
func (e *Engine) moved(ctx context.Context, org string, f *explain.Facts) (bool, error) {
	now, err := e.store.Instance(ctx, org, f.Instance.ID)
	if err != nil || now.Version != f.Instance.Version {
		return err == nil, err
	}
	newest, err := e.store.EventList(ctx, store.EventFilter{OrgID: org, CaseID: f.Instance.CaseID}, store.Page{Limit: 1})
	if err != nil || len(newest) == 0 || newest[0].InstanceID != f.Instance.ID {
		return false, err
	}
	return len(f.Events) == 0 || f.Events[len(f.Events)-1].ID != newest[0].ID, nil
}

// teller remembers what one stream of an instance has said.
type teller struct {
	say     func(Live) error
	mark    string            // where to begin; used once
	said    map[string]string // entry → its text
	version int64
}

func (t *teller) tell(f explain.Facts) error {
	entries := f.Timeline().Items
	fresh := entries
	if t.said == nil {
		t.said = make(map[string]string, len(entries))
		fresh = f.After(entries, t.mark)
		for i := range entries {
			t.said[entries[i].ID] = entries[i].Text
		}
		for i := range fresh {
			delete(t.said, fresh[i].ID)
		}
	}
	marker := f.Marker()
	for i := range fresh {
		entry := &fresh[i]
		if text, ok := t.said[entry.ID]; ok && text == entry.Text {
			continue
		}
		if err := t.say(Live{Entry: entry, Mark: marker.Mark(entry)}); err != nil {
			return err
		}
		t.said[entry.ID] = entry.Text
	}
	if t.version == f.Instance.Version {
		return nil
	}
	t.version = f.Instance.Version
	return t.say(Live{Instance: f.Instance})
}

// FollowInstances tells every change of an organisation's instances from now on
// that the filter lets through, and what becomes of those it has told of. It
// returns as FollowInstance does. Changes that other replicas commit are seen
// within about a second, for the newest hundred instances of the filter.
func (e *Engine) FollowInstances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, say func(Live) error) error {
	filter.OrgID = p.Tenant
	w := e.live.watch(p.Tenant, rondo.ID{})
	defer e.live.leave(w)
	seen := map[rondo.ID]int64{} // instance → version
	if err := e.newest(ctx, filter, func(i *rondo.Instance) error { seen[i.ID] = i.Version; return nil }); err != nil {
		return err
	}
	told := map[rondo.ID]bool{}
	tell := func(i *rondo.Instance) error {
		if seen[i.ID] >= i.Version || !told[i.ID] && !matches(i, &filter) {
			return nil
		}
		if len(seen) > liveBacklog { // what it forgets is told once more at worst
			clear(seen)
			clear(told)
		}
		seen[i.ID], told[i.ID] = i.Version, true
		return say(Live{Instance: i})
	}
	if err := say(Live{}); err != nil { // the reader learns that it is connected
		return err
	}
	for {
		woken, err := w.wait(ctx)
		if err != nil {
			return err
		}
		if err := e.tellChanged(ctx, w, tell); err != nil {
			return err
		}
		if woken {
			continue
		}
		if err := e.newest(ctx, filter, tell); err != nil {
			return err
		}
		if err := say(Live{}); err != nil {
			return err
		}
	}
}

// tellChanged tells what was committed here since it was last asked.
func (e *Engine) tellChanged(ctx context.Context, w *watcher, tell func(*rondo.Instance) error) error {
	changed, err := w.take()
	if err != nil {
		return err
	}
	for _, note := range changed {
		if note.instance == nil {
			note.instance, err = e.store.Instance(ctx, w.org, note.id)
			if rondo.CodeOf(err) == rondo.CodeNotFound {
				continue // purged meanwhile
			}
			if err != nil {
				return err
			}
		}
		if err := tell(note.instance); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) newest(ctx context.Context, filter store.InstanceFilter, visit func(*rondo.Instance) error) error {
	rows, err := e.store.Instances(ctx, filter, store.Page{Limit: liveNewest})
	if err != nil {
		return err
	}
	for _, i := range slices.Backward(rows) { // oldest first, as they happened
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether an instance passes the filters that streams know.
func matches(i *rondo.Instance, f *store.InstanceFilter) bool {
	return (f.Status == "" || f.Status == i.Status) &&
		(f.Mode == "" || f.Mode == i.Mode) &&
		(f.ProductID == "" || f.ProductID == i.ProductID) &&
		(f.CaseID == "" || f.CaseID == i.CaseID) &&
		(f.DefinitionID.IsZero() || f.DefinitionID == i.DefinitionID)
}

// hub wakes streams when something of theirs is committed here. Commits never
// wait for it: it takes one lock for a moment and leaves notes.
type hub struct {
	count    atomic.Int64 // of watchers; commits look no further when it is zero
	mu       sync.Mutex
	watchers map[watched]map[*watcher]bool
	closed   chan struct{}
}

// watched is an instance, or every one of an organisation (zero).
type watched struct {
	org      string
	instance rondo.ID
}

func newHub() *hub {
	return &hub{watchers: map[watched]map[*watcher]bool{}, closed: make(chan struct{})}
}

// watcher is one stream.
type watcher struct {
	watched
	wake   chan struct{}
	poll   *time.Ticker
	closed <-chan struct{}

	mu      sync.Mutex
	changed map[rondo.ID]*rondo.Instance // nil = not held
	over    bool                         // more changed than the reader could take
}

func (h *hub) watch(org string, instance rondo.ID) *watcher {
	w := &watcher{
		watched: watched{org, instance}, wake: make(chan struct{}, 1), poll: time.NewTicker(livePoll), closed: h.closed,
		changed: map[rondo.ID]*rondo.Instance{},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[w.watched] == nil {
		h.watchers[w.watched] = map[*watcher]bool{}
	}
	h.watchers[w.watched][w] = true
	h.count.Add(1)
	return w
}

func (h *hub) leave(w *watcher) {
	w.poll.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[w.watched], w)
	if len(h.watchers[w.watched]) == 0 {
		delete(h.watchers, w.watched)
	}
	h.count.Add(-1)
}

// close ends every stream.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
}

// committed leaves notes for the streams that a commit concerns.
func (h *hub) committed(b *caseloop.Batch) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range b.Decisions {
		d := &b.Decisions[i].Decision
		for _, changed := range []*rondo.Instance{d.Replaced, d.Instance} {
			if changed == nil {
				continue
			}
			for w := range h.watchers[watched{org: changed.OrgID}] {
				w.note(changed)
			}
			h.wake(changed.OrgID, changed.ID)
		}
		if d.Event != nil && !d.Event.InstanceID.IsZero() {
			h.wake(d.Event.OrgID, d.Event.InstanceID)
		}
	}
}

func (h *hub) wake(org string, instance rondo.ID) {
	for w := range h.watchers[watched{org, instance}] {
		signal(w.wake)
	}
}

// note remembers a change until the reader of the stream can take it.
func (w *watcher) note(i *rondo.Instance) {
	w.mu.Lock()
	if _, known := w.changed[i.ID]; !known && len(w.changed) >= liveBacklog {
		w.over = true
	}
	switch held, known := w.changed[i.ID]; {
	case w.over:
	case known && held == nil, !known && len(w.changed) >= liveHeld:
		w.changed[i.ID] = nil
	default:
		w.changed[i.ID] = i
	}
	w.mu.Unlock()
	signal(w.wake)
}

// changedNote is one instance that changed; without the instance it must be read.
type changedNote struct {
	id       rondo.ID
	instance *rondo.Instance
}

// take returns what has changed since it was last asked, in order of id.
func (w *watcher) take() ([]changedNote, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil, &rondo.Error{Code: rondo.CodeOverloaded, Message: "the stream fell too far behind", Hint: "list the instances and follow again"}
	}
	out := make([]changedNote, 0, len(w.changed))
	for id, i := range w.changed {
		out = append(out, changedNote{id, i})
	}
	clear(w.changed)
	slices.SortFunc(out, func(a, b changedNote) int { return slices.Compare(a.id[:], b.id[:]) })
	return out, nil
}

// wait returns true when something was committed here, false when it is time to
// look what others did, and an error when the stream is to end.
func (w *watcher) wait(ctx context.Context) (woken bool, err error) {
	select {
	case <-w.wake:
		return true, nil
	case <-w.poll.C:
		return false, nil
	case <-w.closed:
		return false, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the engine is stopping", Hint: "follow again shortly"}
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
