package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// server is an environment: skills and registries by name. Names that begin with
// "simulated." are Go skills.
type server struct {
	skills  map[string]SkillSpec
	prompts map[string]string // "id version" → JSON
	configs map[string]string
}

func (s server) Skill(name string) (SkillSpec, bool) {
	if strings.HasPrefix(name, "simulated.") {
		return SkillSpec{Type: "go"}, true
	}
	spec, ok := s.skills[name]
	return spec, ok
}

func (s server) Prompt(id, version string) (json.RawMessage, bool) {
	text, ok := s.prompts[id+" "+version]
	return json.RawMessage(text), ok
}

func (s server) Config(id, version string) (json.RawMessage, bool) {
	text, ok := s.configs[id+" "+version]
	return json.RawMessage(text), ok
}

func mustCompile(t testing.TB, document string) *Workflow {
	t.Helper()
	return mustCompileIn(t, document, server{})
}

func mustCompileIn(t testing.TB, document string, env Environment) *Workflow {
	t.Helper()
	w, err := Compile([]byte(document), env)
	if err != nil {
		t.Fatalf("%v\n%s", err, problemsOf(err))
	}
	return w
}

// problemsOf lists "code pointer" of what is wrong.
func problemsOf(err error) []string {
	var list []string
	if e, ok := errors.AsType[*rondo.Error](err); ok {
		for _, f := range e.Fields {
			list = append(list, f.Code+" "+f.Pointer)
		}
	}
	return list
}

// one is a workflow with the steps.
func one(steps ...string) string {
	return `{"name":"test.flow","version":"1.0.0","steps":[` + strings.Join(steps, ",") + `]}`
}

// step is a step that reads nothing.
func step(id string, needs ...string) string {
	return fmt.Sprintf(`{"id":%q,"skill":"simulated.work@1","depends_on":%s}`, id, asJSON(append([]string{}, needs...)))
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func campaign(t testing.TB) *Workflow {
	t.Helper()
	raw, err := os.ReadFile("testdata/campaign.json")
	if err != nil {
		t.Fatal(err)
	}
	return mustCompile(t, string(raw))
}

func ids(w *Workflow, steps []int) []string {
	list := make([]string, len(steps))
	for n, i := range steps {
		list[n] = w.Steps[i].ID
	}
	return list
}

// shape is a random DAG: what each step depends on, lower ones only; and the order
// in which the file has them.
type shape struct {
	needs [][]int
	file  []int
}

func drawShape(t *rapid.T, most int) shape {
	n := rapid.IntRange(1, most).Draw(t, "steps")
	s := shape{needs: make([][]int, n), file: make([]int, n)}
	for i := range n {
		s.file[i] = i
		if i > 0 {
			s.needs[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID[int]).Draw(t, "needs")
		}
	}
	s.file = rapid.Permutation(s.file).Draw(t, "file")
	return s
}

func name(i int) string { return fmt.Sprintf("s%d", i) }

func (s shape) document() string {
	steps := make([]string, len(s.file))
	for n, i := range s.file {
		needs := make([]string, len(s.needs[i]))
		for k, need := range s.needs[i] {
			needs[k] = name(need)
		}
		steps[n] = step(name(i), needs...)
	}
	return one(steps...)
}

// chain and fan are the two extremes of a graph.
func chain(n int) string {
	steps := make([]string, n)
	for i := range n {
		steps[i] = `{"id":"` + name(i) + `","skill":"simulated.work@1"`
		if i > 0 {
			steps[i] += `,"depends_on":["` + name(i-1) + `"],"input":{"before":{"step":"` + name(i-1) + `","path":"data.value"},"seed":{"trigger":"seed"}}`
		}
		steps[i] += "}"
	}
	slices.Reverse(steps) // the worst order of a file
	return one(steps...)
}

func fan(n int) string {
	steps := []string{step("first")}
	var middle []string
	for i := range n {
		steps = append(steps, step(name(i), "first"))
		middle = append(middle, name(i))
	}
	return one(append(steps, step("last", middle...))...)
}
