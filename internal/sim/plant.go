package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// Mistake is a defect that can be planted between the engine and its store and
// bus, to show that the checks notice it. The engine itself has no switch.
type Mistake string

// The mistakes that can be planted.
const (
	None                Mistake = ""
	AckBeforeCommit     Mistake = "ack_before_commit"
	StaleTimer          Mistake = "timer_without_version_check"
	ReusedCorrelation   Mistake = "reused_correlation"
	MergeOutsideCommit  Mistake = "context_merge_outside_commit"
	RetryBudgetReset    Mistake = "retry_budget_reset"
	PublishBeforeCommit Mistake = "publish_before_commit"
	NoSweeper           Mistake = "no_outbox_sweeper"
	NoTimerSweeper      Mistake = "no_timer_sweeper"
)

// Mistakes lists all of them.
func Mistakes() []Mistake {
	return []Mistake{AckBeforeCommit, StaleTimer, ReusedCorrelation, MergeOutsideCommit, RetryBudgetReset, PublishBeforeCommit, NoSweeper, NoTimerSweeper}
}

// planted holds what a mistake remembers.
type planted struct {
	stale        map[rondo.CaseKey]store.CaseState // what was loaded last time
	correlations map[string]string                 // instance and step → first correlation id
	contexts     map[rondo.CaseKey]rondo.Context   // merges that are still to be written
}

// loaded may show the engine something else than what is stored.
func (p *planted) loaded(g *guardedStore, l *store.Loaded) *store.Loaded {
	if g.w.mistake != StaleTimer {
		return l
	}
	if p.stale == nil {
		p.stale = map[rondo.CaseKey]store.CaseState{}
	}
	shown := *l
	if g.timersOnly {
		shown.Cases = maps.Clone(l.Cases)
		for key := range l.Cases {
			if old, ok := p.stale[key]; ok && old.Instance != nil {
				shown.Cases[key] = old
			}
		}
	} else {
		maps.Copy(p.stale, l.Cases)
	}
	return &shown
}

// write may change what the engine decided.
func (p *planted) write(g *guardedStore, l *store.Loaded, w *store.Write) *store.Write {
	changed := *w
	changed.Instances = slices.Clone(w.Instances)
	for i := range changed.Instances {
		copied := *changed.Instances[i].Instance
		changed.Instances[i].Instance = &copied
	}
	switch g.w.mistake {
	case StaleTimer:
		for i := range changed.Instances {
			if stored := l.Cases[changed.Instances[i].Instance.Key()].Instance; stored != nil {
				changed.Instances[i].Previous = stored.Version
				changed.Instances[i].Instance.Version = stored.Version + 1
			}
		}
	case ReusedCorrelation:
		p.reuse(&changed)
	case MergeOutsideCommit:
		p.contexts = map[rondo.CaseKey]rondo.Context{}
		for i := range changed.Instances {
			in := changed.Instances[i].Instance
			if stored := l.Cases[in.Key()].Instance; stored != nil {
				p.contexts[in.Key()] = in.Context
				in.Context = stored.Context
			}
		}
	case RetryBudgetReset:
		for i := range changed.Instances {
			in := changed.Instances[i].Instance
			steps := maps.Clone(in.Machine.Steps)
			for id, life := range steps {
				life.Retries = 0
				steps[id] = life
			}
			in.Machine.Steps = steps
		}
	case PublishBeforeCommit:
		for _, out := range w.Outbox {
			g.w.net.take(message(out))
		}
	default:
		return w
	}
	return &changed
}

// after may do more, in a transaction of its own.
func (p *planted) after(ctx context.Context, g *guardedStore, _ *store.Write) error {
	if g.w.mistake != MergeOutsideCommit || len(p.contexts) == 0 {
		return nil
	}
	merges := p.contexts
	p.contexts = nil
	g.w.effect("merge")
	keys := slices.Collect(maps.Keys(merges))
	_, err := g.Store.Update(ctx, store.Load{Cases: keys}, func(l *store.Loaded) (*store.Write, error) {
		w := &store.Write{}
		for key, merged := range merges {
			stored := l.Cases[key].Instance
			if stored == nil {
				continue
			}
			in := *stored
			in.Context, in.Version = merged, stored.Version+1
			w.Instances = append(w.Instances, store.InstanceWrite{Instance: &in, Previous: stored.Version})
		}
		return w, nil
	})
	return err
}

// reuse gives every later attempt the correlation id of the first.
func (p *planted) reuse(w *store.Write) {
	if p.correlations == nil {
		p.correlations = map[string]string{}
	}
	renamed := map[string]string{}
	for i := range w.Instances {
		in := w.Instances[i].Instance
		in.Machine.Live = slices.Clone(in.Machine.Live)
		for j := range in.Machine.Live {
			att := &in.Machine.Live[j]
			key := in.ID.String() + "/" + att.StepID
			if first, ok := p.correlations[key]; ok && first != att.CorrelationID {
				renamed[att.CorrelationID] = first
				att.CorrelationID = first
			} else {
				p.correlations[key] = att.CorrelationID
			}
		}
	}
	w.Outbox = slices.Clone(w.Outbox)
	for i := range w.Outbox {
		e, err := event.Parse(w.Outbox[i].Envelope)
		if err != nil {
			continue
		}
		if first, ok := renamed[e.CorrelationID]; ok {
			e.CorrelationID = first
			w.Outbox[i].Envelope = e.Encode()
		}
	}
}
