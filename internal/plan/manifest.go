package plan

import (
	"encoding/json"
	"strconv"

	"github.com/rondo-engine/rondo"
)

// Encode writes a manifest as JSON; one without components is nothing.
func (m Manifest) Encode() json.RawMessage {
	if len(m.Components) == 0 {
		return nil
	}
	b := strconv.AppendInt(append(make([]byte, 0, 96*len(m.Components)), `{"v":`...), int64(m.V), 10)
	b = append(b, `,"components":[`...)
	for i := range m.Components {
		c := &m.Components[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"name":`...), quoted(c.Name)...)
		b = append(append(append(b, `,"digest":"`...), c.Digest...), '"')
		b = append(appendText(b, "preview", c.Preview), '}')
	}
	return append(b, ']', '}')
}

// DecodeManifest reads one; nothing is the manifest without components.
func DecodeManifest(raw json.RawMessage) (Manifest, error) {
	var m Manifest
	if len(raw) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return Manifest{}, &rondo.Error{Code: rondo.CodeStateCorrupt, Op: "read manifest", Err: err}
	}
	return m, nil
}

// Difference is a component that is not in both manifests as it is in one. The one
// that does not have it has the zero Component.
type Difference struct {
	Name          string
	Before, After Component
}

// Diff compares two manifests, whose components are by name.
func Diff(before, after Manifest) []Difference {
	var found []Difference
	b, a := before.Components, after.Components
	for len(b) > 0 || len(a) > 0 {
		switch {
		case len(a) == 0 || len(b) > 0 && b[0].Name < a[0].Name:
			found = append(found, Difference{Name: b[0].Name, Before: b[0]})
			b = b[1:]
		case len(b) == 0 || a[0].Name < b[0].Name:
			found = append(found, Difference{Name: a[0].Name, After: a[0]})
			a = a[1:]
		default:
			if a[0].Digest != b[0].Digest {
				found = append(found, Difference{Name: a[0].Name, Before: b[0], After: a[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return found
}
