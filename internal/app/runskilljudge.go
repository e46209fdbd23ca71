package app

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skills"
)

var _ engine.SkillJudge = (*runLibrary)(nil)

// JudgeSkills says what is wrong with the skills that a file declares, and what the
// operator does not allow of them.
func (l *runLibrary) JudgeSkills(declared map[string]plan.SkillSpec) []rondo.FieldError {
	wrong, forbidden, _ := judgeSkills(l.set, declared)
	return append(wrong, forbidden...)
}

// JudgeSkills says what is wrong with the skills that the body of a workflow declares
// wherever it runs. forbidden is what an operator must allow first.
func JudgeSkills(body []byte) (wrong, forbidden []rondo.FieldError) {
	anywhere := skills.New(skills.Options{
		AllowExec: true, AllowPlainHTTP: true, Ports: []int{0}, LLM: skills.LLM{Model: "any"},
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
	})
	wrong, forbidden, _ = judgeSkills(anywhere, declaredSkills(body))
	return wrong, forbidden
}

// checkSkills says what is wrong with the skills that a workflow file declares, and
// what the operator does not allow of them.
func checkSkills(set *skills.Set, source []byte) error {
	draft, err := definition.ParseDraftOf(rondo.KindRun, source)
	if err != nil {
		return err
	}
	wrong, forbidden, first := judgeSkills(set, declaredSkills(draft.Body))
	if told, ok := errors.AsType[*rondo.Error](first); ok && len(wrong)+len(forbidden) > 1 {
		all := *told
		all.Fields = append(wrong, forbidden...)
		return &all
	}
	return first
}

// checkSkill judges one skill; the error names it.
func checkSkill(set *skills.Set, name string, declared skill.Spec) error {
	if declared.Type == skills.TypeRemote || declared.Type == skills.TypeGo {
		return rondo.Op("skill "+name, set.Check(declared))
	}
	_, err := set.Skill(name, declared)
	return err
}

// declaredSkills are the skills of a body. Its shape is judged elsewhere.
func declaredSkills(body []byte) map[string]plan.SkillSpec {
	var file struct {
		Skills map[string]plan.SkillSpec `json:"skills"`
	}
	if json.Unmarshal(body, &file) != nil {
		return nil
	}
	return file.Skills
}

// judgeSkills finds everything at once, each at its place in the file; first is the
// error of the first skill, by name, that has one.
func judgeSkills(set *skills.Set, declared map[string]plan.SkillSpec) (wrong, forbidden []rondo.FieldError, first error) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		err := checkSkill(set, name, skill.Spec(declared[name]))
		if err == nil {
			continue
		}
		if first == nil {
			first = err
		}
		at := "/skills/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		told, ok := errors.AsType[*rondo.Error](err)
		for ok && told.Message == "" {
			told, ok = errors.AsType[*rondo.Error](told.Err)
		}
		switch {
		case !ok:
			wrong = append(wrong, rondo.FieldError{Code: "skill_invalid", Pointer: at, Message: err.Error()})
		case told.Code == rondo.CodeForbidden:
			forbidden = append(forbidden, rondo.FieldError{Code: "skill_forbidden", Pointer: at, Message: told.Message + "; " + told.Hint})
		case len(told.Fields) == 0:
			wrong = append(wrong, rondo.FieldError{Code: "skill_invalid", Pointer: at, Message: told.Message + "; " + told.Hint})
		default:
			for _, f := range told.Fields {
				wrong = append(wrong, rondo.FieldError{Code: "skill_invalid", Pointer: at + "/config" + f.Pointer, Message: f.Message})
			}
		}
	}
	return wrong, forbidden, first
}
