package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// keyVersion is the version of the form of keys. A new one makes every entry cold.
const keyVersion = 1

// KeyDisabled is why a step with cache.enabled false has no key.
const KeyDisabled = "disabled"

// staticKey is what every key of one step has, made once: the canonical document of
//
//	{config, inputs: {member: digest}, model, output_schema, prompts: {path: digest},
//	 run?, salt, skill, skill_type, step, tenant, v, workflow}
//
// in the pieces between what differs, and the components for the manifest.
type staticKey struct {
	head       string // up to inputs
	middle     string // from behind the inputs up to run
	tail       string // from salt up to the tenant
	components []Component
	ignore     map[string]bool
}

func staticOf(s *Step) staticKey {
	k := staticKey{
		head: `{"config":` + quoted(s.skill.config) + `,"inputs":{`,
		middle: `},"model":` + quoted(s.skill.model) + `,"output_schema":` + quoted(digestOf(s.OutputSchema)) +
			`,"prompts":` + s.skill.prompts + `,`,
		tail: `"salt":` + quoted(s.Salt) + `,"skill":` + quoted(s.Skill) + `,"skill_type":` + quoted(s.skill.spec.Type) +
			`,"step":` + quoted(s.ID) + `,"tenant":`,
	}
	k.components = slices.Clone(s.skill.components)
	if s.Salt != "" {
		k.components = append(k.components, Component{Name: "salt", Digest: short(digestOf([]byte(s.Salt)))})
	}
	if s.OutputSchema != nil {
		k.components = append(k.components, Component{Name: "output_schema", Digest: short(digestOf(s.OutputSchema))})
	}
	if len(s.Ignore) > 0 {
		k.ignore = make(map[string]bool, len(s.Ignore))
		for _, name := range s.Ignore {
			k.ignore[name] = true
		}
	}
	return k
}

// Key makes the key of a step that has this input. InputHash covers the whole
// input; the key leaves members out that the step ignores. Without a canonical form
// there is neither; a step that is not cached has a hash and a manifest and no key.
func (w *Workflow) Key(step int, tenant string, run rondo.ID, input json.RawMessage) Keyed {
	s := &w.Steps[step]
	canonical, err := canon.JSON(input)
	if err == nil && !utf8.ValidString(tenant) {
		err = errors.New("the tenant's name is not UTF-8")
	}
	if err == nil && kindOf(canonical) != '{' {
		err = errors.New("the input is not an object")
	}
	if err != nil {
		return Keyed{Uncacheable: whyNot(err)}
	}
	sum := sha256.Sum256(canonical)
	document, components := w.keyDocument(step, tenant, run, canonical)
	k := Keyed{InputHash: hex.EncodeToString(sum[:]), Manifest: Manifest{V: keyVersion, Components: components}}
	if !s.Cached {
		k.Uncacheable = KeyDisabled
		return k
	}
	sum = sha256.Sum256(document)
	k.Key = hex.EncodeToString(sum[:])
	return k
}

// keyDocument writes the canonical document that a key is the digest of, and the
// components of its manifest.
func (w *Workflow) keyDocument(step int, tenant string, run rondo.ID, input []byte) ([]byte, []Component) {
	s := &w.Steps[step]
	doc := append(make([]byte, 0, 1024), s.static.head...)
	components := append(make([]Component, 0, len(s.static.components)+len(s.input)+2), s.static.components...)
	first := true
	next := 0 // the input's members are written in order of bytes, the canonical ones of UTF-16
	eachMember(input, func(name, value []byte) {
		text := string(name[1 : len(name)-1])
		if strings.IndexByte(text, '\\') >= 0 {
			unquoted, _ := canon.Text(name)
			text = string(unquoted)
		}
		if s.static.ignore[text] {
			return
		}
		if !first {
			doc = append(doc, ',')
		}
		first = false
		sum := sha256.Sum256(value)
		doc = append(append(doc, name...), ':', '"')
		at := len(doc)
		doc = hex.AppendEncode(doc, sum[:])
		components = append(components, Component{Name: s.inputName(text, &next), Digest: string(doc[at : at+shortDigest]), Preview: preview(text, value, string(doc[at:at+previewDigest]))})
		doc = append(doc, '"')
	})
	doc = append(doc, s.static.middle...)
	if s.RunOnly {
		id := run.String()
		doc = append(append(append(doc, `"run":`...), quoted(id)...), ',')
		components = append(components, Component{Name: "run", Digest: short(digestOf([]byte(id))), Preview: id})
	}
	doc = append(append(doc, s.static.tail...), quoted(tenant)...)
	doc = append(append(append(doc, `,"v":1,"workflow":`...), w.nameIn...), '}')
	scope := digestOf([]byte(quoted(tenant) + w.nameIn + quoted(s.ID)))
	components = append(components, Component{Name: "scope", Digest: short(scope)})
	slices.SortStableFunc(components, byName)
	return doc, components
}

func byName(a, b Component) int { return strings.Compare(a.Name, b.Name) }

// inputName is the component that a member of the input is. next is where to
// begin to look.
func (s *Step) inputName(name string, next *int) string {
	for n := range s.input {
		m := &s.input[(*next+n)%len(s.input)]
		if m.name == name {
			*next = (*next + n + 1) % len(s.input)
			return m.component
		}
	}
	return "input." + name
}

// whyNot says why something has no canonical form, without showing it.
func whyNot(err error) string {
	refused, ok := errors.AsType[*canon.Error](err)
	if !ok {
		return err.Error()
	}
	if refused.Pointer == "" {
		return refused.Message
	}
	return "input " + refused.Pointer + ": " + refused.Message
}

// inputHash is Keyed.InputHash alone.
func inputHash(input json.RawMessage) string {
	hash, err := canon.Digest(input)
	if err != nil {
		return ""
	}
	return hash
}
