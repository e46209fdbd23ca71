package runs

import (
	"context"
	"sync"

	"github.com/rondo-engine/rondo/store"
)

// orphan is a run that was claimed and is in no shard's hands yet. It counts as in
// hand.
type orphan struct {
	store.OwnedRun
	term *tenure // under which it was claimed
}

// orphans are those that could not be read, or for which there is no memory so far.
type orphans struct {
	mu   sync.Mutex
	list []orphan
}

func (o *orphans) put(one orphan) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, one)
}

func (o *orphans) take() []orphan {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list = nil
	return list
}

func (o *orphans) none() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.list) == 0
}

// abandon leaves claimed runs to others: the tenure is over.
func (s *Service) abandon(list []orphan) {
	for i := range list {
		s.roster.add(list[i].Run.TenantID, -1)
	}
}

// takeToCancel claims a run that nobody drives, room or not, to end it. The answer
// comes when that is durable; nil = another has the run and hears the signal.
func (s *Service) takeToCancel(ctx context.Context, signal store.RunSignal) <-chan reply {
	term := s.term.Load()
	if term == nil || s.stopping.Load() || !term.lasts(s.now()) {
		return nil
	}
	claimed, err := s.store.ClaimRuns(ctx, term.owner, s.now(), store.Claim{Limit: 1, Run: signal.RunID})
	if err != nil || len(claimed) == 0 {
		return nil
	}
	answer := make(chan reply, 1)
	o := orphan{claimed[0], term}
	s.roster.add(o.Run.TenantID, 1)
	if !s.adopt(ctx, o, []store.RunSignal{signal}, into(answer)) {
		s.orphans.put(o)
		return nil
	}
	return answer
}
