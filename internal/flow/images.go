package flow

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
)

// images are those given to a module that looks at pictures: the ones that the
// newest image check let pass, joined with the case's images by id, else the
// case's own. Each is {id, type?, uri?}.
func (m *move) images() json.RawMessage {
	own := m.caseImages()
	checked, ok := m.checkedImages()
	if !ok {
		return writeImages(own)
	}
	joined := make([]image, 0, len(checked))
	for _, id := range checked {
		found := image{id: quoted(id)}
		if i := slices.IndexFunc(own, func(candidate image) bool { return text(candidate.id) == id }); i >= 0 {
			found = own[i]
		}
		joined = append(joined, found)
	}
	return writeImages(joined)
}

type image struct{ id, kind, uri json.RawMessage }

func writeImages(all []image) json.RawMessage {
	buf := []byte{'['}
	for i, one := range all {
		if i > 0 {
			buf = append(buf, ',')
		}
		o := newObject(96).raw("id", one.id)
		if one.kind != nil {
			o.raw("type", one.kind)
		}
		if one.uri != nil {
			o.raw("uri", one.uri)
		}
		buf = append(buf, o.done()...)
	}
	return append(buf, ']')
}

func (m *move) caseImages() []image {
	var raw []json.RawMessage
	if found := m.contextAt("case", "images"); found == nil || json.Unmarshal(found, &raw) != nil {
		return nil
	}
	all := make([]image, 0, len(raw))
	for _, one := range raw {
		all = append(all, image{id: descend(one, "id"), kind: descend(one, "type"), uri: descend(one, "uri")})
	}
	return all
}

// checkedImages are the image_ids of the newest step that reported any.
func (m *move) checkedImages() (ids []string, ok bool) {
	raw := m.newestOutput("image_ids", func(value json.RawMessage) bool {
		return json.Unmarshal(value, new([]string)) == nil
	})
	if raw == nil || json.Unmarshal(raw, &ids) != nil {
		return nil, false
	}
	return ids, true
}

// newestOutput finds a member in the outputs of steps, the most recently
// completed step first.
func (m *move) newestOutput(name string, fits func(json.RawMessage) bool) json.RawMessage {
	var best json.RawMessage
	newest := 0
	for id, life := range m.inst.Machine.Steps {
		if life.Output <= newest {
			continue
		}
		if value := descend(m.inst.Context[id], name); value != nil && fits(value) {
			best, newest = value, life.Output
		}
	}
	return best
}

// outputs reports whether a step has an output in the context.
func outputs(inst *rondo.Instance, stepID string) bool { return inst.Machine.Steps[stepID].Output > 0 }
