package canon

import "bytes"

// fewNames is up to how many names an object is searched name by name.
const fewNames = 24

// nameStack holds the names of all objects that are open, innermost last, to
// find duplicates: an object of ordinary width costs no allocation of its own,
// a wide one gets a map so that it costs no quadratic time.
type nameStack struct {
	names [][]byte
}

// nameSet is the part of the stack that belongs to one object.
type nameSet struct {
	first int
	wide  map[string]struct{}
}

func (s *nameStack) open() nameSet { return nameSet{first: len(s.names)} }

func (s *nameStack) close(set nameSet) { s.names = s.names[:set.first] }

// add reports whether the name is new in the set.
func (s *nameStack) add(set *nameSet, name []byte) bool {
	if set.wide != nil {
		if _, there := set.wide[string(name)]; there {
			return false
		}
		set.wide[string(name)] = struct{}{}
		return true
	}
	own := s.names[set.first:]
	for _, other := range own {
		if bytes.Equal(other, name) {
			return false
		}
	}
	if len(own) < fewNames {
		s.names = append(s.names, name)
		return true
	}
	set.wide = make(map[string]struct{}, 4*fewNames)
	for _, other := range own {
		set.wide[string(other)] = struct{}{}
	}
	set.wide[string(name)] = struct{}{}
	return true
}
