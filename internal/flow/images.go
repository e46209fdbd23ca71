package flow

import (
	"bytes"
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
		found := image{ID: quoted(id)}
		if i := slices.IndexFunc(own, func(candidate image) bool { return candidate.name() == id }); i >= 0 {
			found = own[i]
		}
		joined = append(joined, found)
	}
	return writeImages(joined)
}

type image struct {
	ID   json.RawMessage `json:"id"`
	Type json.RawMessage `json:"type,omitempty"`
	URI  json.RawMessage `json:"uri,omitempty"`
}

func (i image) name() string {
	var name string
	if json.Unmarshal(i.ID, &name) != nil {
		return ""
	}
	return name
}

func writeImages(all []image) json.RawMessage {
	buf := []byte{'['}
	for i, one := range all {
		if i > 0 {
			buf = append(buf, ',')
		}
		o := newObject(96).raw("id", one.ID)
		if !isNull(one.Type) {
			o.raw("type", one.Type)
		}
		if !isNull(one.URI) {
			o.raw("uri", one.URI)
		}
		buf = append(buf, o.done()...)
	}
	return append(buf, ']')
}

func (m *move) caseImages() []image {
	var all []image
	if raw := m.contextAt([]string{"case", "images"}); raw != nil && json.Unmarshal(raw, &all) != nil {
		return nil
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
func (m *move) newestOutput(member string, fits func(json.RawMessage) bool) json.RawMessage {
	var best json.RawMessage
	newest := 0
	for id, life := range m.inst.Machine.Steps {
		if life.Output <= newest || !mentions(m.inst.Context[id], member) {
			continue
		}
		if value := descend(m.inst.Context[id], []string{member}); value != nil && fits(value) {
			best, newest = value, life.Output
		}
	}
	return best
}

// mentions spares the decoding of outputs that cannot hold a member. A name
// written with escapes is not plain text, hence the look for a backslash.
func mentions(raw json.RawMessage, member string) bool {
	return bytes.Contains(raw, []byte(member)) || bytes.IndexByte(raw, '\\') >= 0
}

// outputs reports whether a step has an output in the context.
func outputs(inst *rondo.Instance, stepID string) bool { return inst.Machine.Steps[stepID].Output > 0 }
