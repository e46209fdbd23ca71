package runs

import (
	"maps"
	"sync"
)

// roster counts the runs in the hands of this process.
type roster struct {
	mu      sync.Mutex
	all     int
	tenants map[string]int
}

// add counts n runs of a tenant more.
func (r *roster) add(tenant string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(tenant, n)
}

func (r *roster) count(tenant string, n int) {
	if r.tenants == nil {
		r.tenants = map[string]int{}
	}
	r.all += n
	if r.tenants[tenant] += n; r.tenants[tenant] == 0 {
		delete(r.tenants, tenant)
	}
}

// join counts a run if there is room for it: below most of all, and each of a tenant.
func (r *roster) join(tenant string, most, each int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all >= most || r.tenants[tenant] >= each {
		return false
	}
	r.count(tenant, 1)
	return true
}

// taken is how many there are, and by tenant.
func (r *roster) taken() (all int, tenants map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all, maps.Clone(r.tenants)
}
