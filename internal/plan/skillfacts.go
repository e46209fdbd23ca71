package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo/internal/canon"
)

// skillFacts is what keys say of a skill, made once for all its steps.
type skillFacts struct {
	spec       SkillSpec
	config     string // digest of the config without model and prompts
	model      string // digest; "" = none
	prompts    string // {"path": digest} as canonical JSON
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

func factsOf(name string, spec SkillSpec) (*skillFacts, error) {
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
	return f, nil
}

// takePrompts moves model and prompts out of the members of a config.
func (f *skillFacts) takePrompts(members map[string]json.RawMessage) {
	if model, ok := members[modelMember]; ok {
		f.model = digestOf(model)
		f.components = append(f.components, Component{Name: "model", Digest: short(f.model), Preview: preview(modelMember, model)})
		delete(members, modelMember)
	}
	digests := map[string]json.RawMessage{}
	for _, name := range []string{promptMember, systemMember} {
		if text, ok := members[name]; ok {
			digest := digestOf(text)
			digests[name] = json.RawMessage(quoted(digest))
			f.components = append(f.components, Component{Name: "prompt." + name, Digest: short(digest), Preview: preview(name, text)})
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
		return append(parts, Component{Name: name, Digest: short(digestOf(value)), Preview: preview(name, value)})
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

// secretWords are in the names of members that are never shown.
var secretWords = []string{"token", "key", "secret", "password", "authorization", "credential", "cookie"}

// maxPreview is how many characters of a value a manifest shows.
const maxPreview = 40

// preview shows the beginning of a scalar; of lists and objects, which may hold
// anything, only how long they are.
func preview(name string, canonical []byte) string {
	lower := strings.ToLower(name)
	if slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) }) {
		return ""
	}
	switch kindOf(canonical) {
	case '{':
		return "object of " + strconv.Itoa(len(canonical)) + " bytes"
	case '[':
		return "list of " + strconv.Itoa(len(canonical)) + " bytes"
	}
	return clip(string(canonical))
}

// clip cuts a text to what a preview may have.
func clip(text string) string {
	if len(text) <= maxPreview {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == maxPreview {
			return text[:i] + "…"
		}
	}
	return text
}
