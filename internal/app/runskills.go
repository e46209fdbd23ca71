package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill/skills"
)

// runLibrary is what workflows may use beside what their files declare: the Go
// skills of this program, and the skills, prompts and configs of a file. It also
// knows what the operator adds to a skill. It does not change.
type runLibrary struct {
	set              *skills.Set
	skills           map[string]plan.SkillSpec
	prompts, configs map[string]map[string]json.RawMessage // id → version → value
}

var (
	_ plan.Environment = (*runLibrary)(nil)
	_ plan.Resolver    = (*runLibrary)(nil)
)

// newRunLibrary reads the file; "" = there is none.
func newRunLibrary(file string, allow SkillOptions) (*runLibrary, error) {
	set, err := newSkillSet(allow)
	if err != nil {
		return nil, err
	}
	library := &runLibrary{set: set, skills: map[string]plan.SkillSpec{}}
	if file != "" {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, badSkills(err.Error())
		}
		if err := library.read(source); err != nil {
			return nil, rondo.Op(file, err)
		}
	}
	for name := range allow.own {
		if _, declared := library.skills[name]; !declared { // the file of an operator wins
			library.skills[name] = plan.SkillSpec{Type: "go"}
		}
	}
	return library, nil
}

// read takes {skills, prompts, configs} in, as a workflow file writes them.
func (l *runLibrary) read(source []byte) error {
	document, err := definition.PlainJSON(source)
	if err != nil {
		return err
	}
	members := map[string]any{"skills": &l.skills, "prompts": &l.prompts, "configs": &l.configs}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(document, &written); err != nil {
		return badSkills("the file is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		into, known := members[name]
		if !known {
			return badSkills(fmt.Sprintf("there is no member %q in a file of skills", name))
		}
		if err := json.Unmarshal(written[name], into); err != nil {
			return badSkills(fmt.Sprintf("%s: %v", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.skills)) {
		switch l.skills[name].Type {
		case "exec", "http", "llm", "template", "remote":
		default:
			return badSkills(fmt.Sprintf("skills: %s has the type %q; use exec, http, llm, template or remote", name, l.skills[name].Type))
		}
	}
	return nil
}

func badSkills(message string) error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Op: "read skills", Message: message,
		Hint: `write {"skills": {"name@1": {"type": …, "config": {…}}}, "prompts": {"id": {"version": value}}, "configs": {…}}`,
	}
}

// Skill finds a skill by name@version.
func (l *runLibrary) Skill(name string) (plan.SkillSpec, bool) {
	spec, ok := l.skills[name]
	return spec, ok
}

// Prompt finds a prompt.
func (l *runLibrary) Prompt(id, version string) (json.RawMessage, bool) {
	value, ok := l.prompts[id][version]
	return value, ok
}

// Config finds a config.
func (l *runLibrary) Config(id, version string) (json.RawMessage, bool) {
	value, ok := l.configs[id][version]
	return value, ok
}

// Resolve says what a skill works with here.
func (l *runLibrary) Resolve(spec plan.SkillSpec) (resolved plan.SkillSpec, outside map[string]string) {
	return skills.ForRuns{Set: l.set}.Resolve(spec)
}
