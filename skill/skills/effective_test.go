package skills_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/skill/skills"
)

func TestTheOperatorsModelIsPartOfAConfiguration(t *testing.T) {
	t.Parallel()
	set := skills.New(skills.Options{LLM: skills.LLM{BaseURL: "HTTP://Models.example:80/v1/", Model: "small", KeyEnv: "SECRET_KEY"}})
	none := skills.New(skills.Options{})
	for name, test := range map[string]struct {
		set            *skills.Set
		kind, in, want string
	}{
		"nothing named":    {set, "llm", ``, `{"base_url":"http://models.example/v1","model":"small"}`},
		"no config at all": {set, "llm", `null`, `{"base_url":"http://models.example/v1","model":"small"}`},
		"an empty name":    {set, "llm", `{"model":""}`, `{"base_url":"http://models.example/v1","model":"small"}`},
		"another model":    {set, "llm", `{"model":"big","seed":1}`, `{"base_url":"http://models.example/v1","model":"big","seed":1}`},
		"another server":   {set, "llm", `{"base_url":"https://x.example"}`, `{"base_url":"https://x.example","model":"small"}`},
		"no operator's":    {none, "llm", `{"model":"m"}`, `{"base_url":"https://api.openai.com/v1","model":"m"}`},
		"not readable":     {set, "llm", `{"modell":"m"}`, `{"modell":"m"}`},
		"another type":     {set, "template", `{"template":"x"}`, `{"template":"x"}`},
	} {
		got, outside := test.set.Effective(spec(test.kind, test.in))
		canonical, err := canon.JSON(got.Config)
		if err != nil || string(canonical) != test.want || outside != nil {
			t.Errorf("%s: %s, %v (%v), want %s", name, got.Config, outside, err, test.want)
		}
	}
}

func TestVariablesOfCommandsCountByDigest(t *testing.T) {
	set := skills.New(skills.Options{AllowExec: true})
	digests := func() map[string]string {
		got, outside := set.Effective(spec("exec", `{"command":"x","env":["RONDO_TEST_ONE","RONDO_TEST_NONE","SET=here"]}`))
		if !strings.Contains(string(got.Config), "SET=here") {
			t.Errorf("the config became %s", got.Config)
		}
		return outside
	}
	t.Setenv("RONDO_TEST_ONE", "first")
	first := digests()
	if names := slices.Sorted(maps.Keys(first)); !slices.Equal(names, []string{"env.RONDO_TEST_NONE", "env.RONDO_TEST_ONE"}) {
		t.Fatalf("there are digests of %v", names)
	}
	if again := digests(); !maps.Equal(first, again) {
		t.Error("equal values have other digests")
	}
	t.Setenv("RONDO_TEST_ONE", "second")
	second := digests()
	t.Setenv("RONDO_TEST_NONE", "")
	empty := digests()
	if first["env.RONDO_TEST_ONE"] == second["env.RONDO_TEST_ONE"] || len(second["env.RONDO_TEST_ONE"]) != 64 {
		t.Error("another value has the same digest")
	}
	if second["env.RONDO_TEST_NONE"] == empty["env.RONDO_TEST_NONE"] {
		t.Error("a variable that is not set counts as an empty one")
	}
	if _, outside := set.Effective(spec("exec", `{"command":"x","env":["SET=here"]}`)); outside != nil {
		t.Errorf("what is set counts twice: %v", outside)
	}
}
