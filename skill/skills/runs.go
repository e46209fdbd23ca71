package skills

import (
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
)

// ForRuns is a set as the run service asks for skills.
type ForRuns struct{ Set *Set }

// Skill makes the skill of a plan's specification.
func (r ForRuns) Skill(name string, wanted plan.SkillSpec) (skill.Skill, error) {
	return r.Set.Skill(name, skill.Spec(wanted))
}

// Resolve says what a skill works with: see plan.Resolver.
func (r ForRuns) Resolve(spec plan.SkillSpec) (resolved plan.SkillSpec, outside map[string]string) {
	effective, outside := r.Set.Effective(skill.Spec(spec))
	return plan.SkillSpec(effective), outside
}
