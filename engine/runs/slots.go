package runs

import (
	"slices"
	"sync"
)

// slots are the places for steps at work in this process, shared by its shards.
type slots struct {
	mu      sync.Mutex
	free    int
	each    int            // most of one tenant
	tenants map[string]int // taken by each
	hungry  []*shard       // to wake when a place is free again
}

func newSlots(all, each int) *slots {
	return &slots{free: all, each: each, tenants: map[string]int{}}
}

// take takes a place for a tenant. A shard that got none is woken by the next that
// is given back.
func (p *slots) take(tenant string, by *shard) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free > 0 && p.tenants[tenant] < p.each {
		p.free--
		p.tenants[tenant]++
		return true
	}
	if slices.Contains(p.hungry, by) {
		return false
	}
	p.hungry = append(p.hungry, by)
	return false
}

// give gives a place back.
func (p *slots) give(tenant string) {
	p.mu.Lock()
	p.free++
	if p.tenants[tenant]--; p.tenants[tenant] == 0 {
		delete(p.tenants, tenant)
	}
	wake := p.hungry
	p.hungry = nil
	p.mu.Unlock()
	for _, sh := range wake {
		sh.nudge()
	}
}
