package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo/internal/canon"
)

// skillFacts is what keys say of a skill, made once for all its steps.
type skillFacts struct {
	spec       SkillSpec // as declared
	config     string    // digest of the config without model and prompts, and of what is outside of it
	model      string    // digest; "" = none
	prompts    string    // {"path": digest} as canonical JSON
	components []Component
}

// The members of an llm skill's config that are named on their own.
const (
	modelMember  = "model"
	systemMember = "system"
	promptMember = "prompt"
)

// maxConfigParts is how many members of a config get a component each.
const maxConfigParts = 24

// factsOf takes a skill apart as it was resolved; outside are digests, see Resolver.
func factsOf(name string, spec SkillSpec, outside map[string]string) (*skillFacts, error) {
	config, err := canonicalOf(spec.Config)
	if err != nil {
		return nil, err
	}
	f := &skillFacts{spec: spec, prompts: "{}"}
	f.components = []Component{{Name: "skill", Digest: short(digestOf([]byte(quoted(name) + quoted(spec.Type)))), Preview: clip(name)}}
	var members map[string]json.RawMessage
	if kindOf(config) == '{' {
		if err := json.Unmarshal(config, &members); err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
	}
	if spec.Type == "llm" {
		f.takePrompts(members)
	}
	rest := []byte(config)
	if members != nil {
		rest = objectOf(members, sortedKeys(members))
	}
	if rest, err = canonicalOf(rest); err != nil {
		return nil, err
	}
	f.config = digestOf(rest)
	parts := configParts("config", rest, nil, 0)
	if len(parts) > maxConfigParts {
		parts = []Component{{Name: "config", Digest: short(f.config)}}
	}
	f.components = append(f.components, parts...)
	f.takeOutside(outside)
	return f, nil
}

// takeOutside puts the digests of what is outside of the config behind its own.
func (f *skillFacts) takeOutside(outside map[string]string) {
	if len(outside) == 0 {
		return
	}
	all := []byte(f.config)
	for _, path := range sortedKeys(outside) {
		all = append(append(append(all, quoted(path)...), ':'), quoted(outside[path])...)
		f.components = append(f.components, Component{Name: "config." + path, Digest: short(outside[path])})
	}
	f.config = digestOf(all)
}

// takePrompts moves model and prompts out of the members of a config.
func (f *skillFacts) takePrompts(members map[string]json.RawMessage) {
	if model, ok := members[modelMember]; ok {
		f.model = digestOf(model)
		f.components = append(f.components, Component{Name: "model", Digest: short(f.model), Preview: preview(modelMember, model, f.model)})
		delete(members, modelMember)
	}
	digests := map[string]json.RawMessage{}
	for _, name := range []string{promptMember, systemMember} {
		if text, ok := members[name]; ok {
			digest := digestOf(text)
			digests[name] = json.RawMessage(quoted(digest))
			f.components = append(f.components, Component{Name: "prompt." + name, Digest: short(digest), Preview: preview(name, text, digest)})
			delete(members, name)
		}
	}
	f.prompts = string(objectOf(digests, sortedKeys(digests)))
}

// configParts names what is in a config, objects taken apart.
func configParts(name string, value json.RawMessage, parts []Component, depth int) []Component {
	if kindOf(value) != '{' || depth == 4 || string(value) == "{}" && depth > 0 {
		if len(value) == 0 {
			return parts
		}
		digest := digestOf(value)
		return append(parts, Component{Name: name, Digest: short(digest), Preview: preview(name, value, digest)})
	}
	eachMember(value, func(quotedName, inner []byte) {
		if len(parts) > maxConfigParts {
			return
		}
		member, _ := canon.Text(quotedName)
		parts = configParts(name+"."+string(member), inner, parts, depth+1)
	})
	return parts
}

// digestOf is the hex SHA-256 of bytes; nothing has none.
func digestOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// shortDigest is how much of a digest a manifest keeps.
const shortDigest = 32

func short(digest string) string { return digest[:min(len(digest), shortDigest)] }
