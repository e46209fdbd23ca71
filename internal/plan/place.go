package plan

import "strconv"

// place is where something stands in a definition. It is written out only when
// there is something to say about it, which is rare.
type place struct {
	up    *place // nil = the document
	name  string
	index int // −1 = it is the member of that name
}

func (p *place) member(name string) place { return place{up: p, name: name, index: -1} }
func (p *place) element(i int) place      { return place{up: p, index: i} }

// String is a JSON Pointer.
func (p *place) String() string {
	if p.up == nil {
		return ""
	}
	if p.index >= 0 {
		return p.up.String() + "/" + strconv.Itoa(p.index)
	}
	return p.up.String() + pointer(p.name)
}
