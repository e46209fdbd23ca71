package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func manifestOf(components ...string) Manifest {
	m := Manifest{V: 1}
	for _, c := range components {
		name, digest, _ := strings.Cut(c, "=")
		m.Components = append(m.Components, Component{Name: name, Digest: digest})
	}
	return m
}

// Every reason there is, and what leads to it.
func TestDecide(t *testing.T) {
	t.Parallel()
	cached := Step{ID: "a", Cached: true}
	uncached := Step{ID: "a"}
	keyed := Keyed{Key: "k", InputHash: "h", Manifest: manifestOf("input.x=1", "skill=1")}
	was := func(components ...string) *Manifest {
		m := manifestOf(components...)
		return &m
	}
	good := func() *rondo.CacheEntry { return &rondo.CacheEntry{Key: "k"} }
	expired := &rondo.CacheEntry{Key: "k", ExpiresAt: noon}
	lasting := &rondo.CacheEntry{Key: "k", ExpiresAt: noon.Add(1)}
	tainted := &rondo.CacheEntry{Key: "k", Tainted: "wrong colour"}
	filed := &rondo.CacheEntry{Key: "k", ArtifactIDs: []rondo.ID{{1}}}
	miss := &Found{}
	const use, refresh, bypass, only, verify = rondo.CacheUse, rondo.CacheRefresh, rondo.CacheBypass, rondo.CacheOnly, rondo.CacheVerify
	for _, tc := range []struct {
		name   string
		step   Step
		q      Question
		act    Act
		reason string
		write  bool
	}{
		{"before the cache was asked", cached, Question{Mode: use, Keyed: keyed}, ActLookup, "", false},
		{"only asks too", cached, Question{Mode: only, Keyed: keyed}, ActLookup, "", false},
		{"first run", cached, Question{Mode: use, Keyed: keyed, Found: miss}, ActRun, "first_run", true},
		{"an empty manifest is none", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: &Manifest{}}, ActRun, "first_run", true},
		{"keys of another version", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: &Manifest{V: 2, Components: keyed.Manifest.Components}}, ActRun, "first_run", true},
		{"input changed", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("input.x=0", "skill=1")}, ActRun, "input_changed(x)", true},
		{"skill changed", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("input.x=0", "skill=0")}, ActRun, "skill_changed", true},
		{"config changed", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("config.a.b=0", "input.x=0", "skill=1")}, ActRun, "config_changed(a.b)", true},
		{"prompt changed", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("input.x=1", "prompt.system=0", "skill=1")}, ActRun, "prompt_changed(system)", true},
		{"salt rotated", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("input.x=0", "salt=0", "skill=1")}, ActRun, "salt_rotated", true},
		{"the entry is gone", cached, Question{Mode: use, Keyed: keyed, Found: miss, Previous: was("input.x=1", "skill=1")}, ActRun, "evicted", true},
		{"expired", cached, Question{Mode: use, Keyed: keyed, Now: noon, Found: &Found{Entry: expired}, Previous: was("input.x=0")}, ActRun, "expired", true},
		{"not expired yet", cached, Question{Mode: use, Keyed: keyed, Now: noon, Found: &Found{Entry: lasting}}, ActReuse, "cache_cold", false},
		{"tainted", cached, Question{Mode: use, Keyed: keyed, Now: noon, Found: &Found{Entry: tainted}}, ActRun, "evicted(tainted)", true},
		{"artifact missing", cached, Question{Mode: use, Keyed: keyed, Now: noon, Found: &Found{Entry: filed}}, ActRun, "artifact_missing", true},
		{"artifacts there", cached, Question{Mode: use, Keyed: keyed, Now: noon, Found: &Found{Entry: filed, ArtifactsPresent: true}}, ActReuse, "cache_cold", false},
		{"cold", cached, Question{Mode: use, Keyed: keyed, Found: &Found{Entry: good()}}, ActReuse, "cache_cold", false},
		{"hot", cached, Question{Mode: use, Keyed: keyed, Found: &Found{Entry: good(), Hot: true}}, ActReuse, "cache_hot", false},
		{"cutoff", cached, Question{Mode: use, Keyed: keyed, BaseKey: "k", UpstreamRan: true, Found: &Found{Entry: good(), Hot: true}}, ActReuse, "cutoff", false},
		{"nothing before it ran", cached, Question{Mode: use, Keyed: keyed, BaseKey: "k", Found: &Found{Entry: good(), Hot: true}}, ActReuse, "cache_hot", false},
		{"not what the base had", cached, Question{Mode: use, Keyed: keyed, BaseKey: "j", UpstreamRan: true, Found: &Found{Entry: good()}}, ActReuse, "cache_cold", false},
		{"another computes it", cached, Question{Mode: use, Keyed: keyed, Found: &Found{Flying: true}}, ActWait, "", false},
		{"another replaces it", cached, Question{Mode: use, Keyed: keyed, Found: &Found{Entry: tainted, Flying: true}}, ActWait, "", false},
		{"another computed it", cached, Question{Mode: use, Keyed: keyed, BaseKey: "k", UpstreamRan: true, Found: &Found{Entry: good(), Awaited: true}}, ActReuse, "inflight", false},
		{"forced", cached, Question{Mode: use, Keyed: keyed, Forced: true, Found: &Found{Entry: good()}}, ActRun, "forced", true},
		{"full rebuild", cached, Question{Mode: use, Keyed: keyed, Rebuild: "full_rebuild"}, ActRun, "forced(full_rebuild)", true},
		{"refresh", cached, Question{Mode: refresh, Keyed: keyed}, ActRun, "refresh", true},
		{"bypass", cached, Question{Mode: bypass, Keyed: keyed}, ActRun, "refresh(bypass)", false},
		{"forced past the cache", cached, Question{Mode: bypass, Keyed: keyed, Forced: true}, ActRun, "forced", false},
		{"verify", cached, Question{Mode: verify, Keyed: keyed}, ActRun, "refresh(verify)", true},
		{"disabled", uncached, Question{Mode: use, Keyed: Keyed{Uncacheable: KeyDisabled, InputHash: "h"}}, ActRun, "uncacheable(disabled)", false},
		{"disabled, refreshing", uncached, Question{Mode: refresh, Keyed: Keyed{Uncacheable: KeyDisabled}}, ActRun, "uncacheable(disabled)", false},
		{"disabled, input not known", uncached, Question{Mode: use, Unknown: true}, ActRun, "uncacheable(disabled)", false},
		{"uncacheable", cached, Question{Mode: use, Keyed: Keyed{Uncacheable: "/x twice"}}, ActRun, "uncacheable(/x twice)", false},
		{"uncacheable, refreshing", cached, Question{Mode: refresh, Keyed: Keyed{Uncacheable: "/x twice"}}, ActRun, "refresh", false},
		{"input not known", cached, Question{Mode: use, Unknown: true}, ActUnknown, "", false},
		{"input not known, forced", cached, Question{Mode: use, Unknown: true, Forced: true}, ActRun, "forced", true},
		{"only, found", cached, Question{Mode: only, Keyed: keyed, Found: &Found{Entry: good()}}, ActReuse, "cache_cold", false},
		{"only, miss", cached, Question{Mode: only, Keyed: keyed, Found: miss}, ActFail, "first_run", false},
		{"only, expired", cached, Question{Mode: only, Keyed: keyed, Now: noon, Found: &Found{Entry: expired}}, ActFail, "expired", false},
		{"only, uncacheable", cached, Question{Mode: only, Keyed: Keyed{Uncacheable: "/x twice"}}, ActFail, "uncacheable(/x twice)", false},
		{"only, disabled", uncached, Question{Mode: only, Keyed: Keyed{Uncacheable: KeyDisabled}}, ActFail, "uncacheable(disabled)", false},
		{"only beats force", cached, Question{Mode: only, Keyed: keyed, Forced: true, Rebuild: "full_rebuild", Found: &Found{Entry: good()}}, ActReuse, "cache_cold", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := Decide(&tc.step, tc.q)
			if got.Act != tc.act || got.Reason.String() != tc.reason || got.Write != tc.write {
				t.Errorf("Decide = %+v", got)
			}
			if (got.Err != nil) != (tc.act == ActFail) || got.Err != nil && got.Err.Code != rondo.CodeCacheOnlyMiss {
				t.Errorf("error %v", got.Err)
			}
			if got.Compare != (tc.q.Mode == verify && got.Write) {
				t.Errorf("Compare = %t", got.Compare)
			}
			if got.Reason.Code != "" && Sentence(got.Reason) == "" {
				t.Errorf("%s has no sentence", got.Reason)
			}
		})
	}
}

func TestModeOf(t *testing.T) {
	t.Parallel()
	o := rondo.RunOptions{Mode: rondo.CacheRefresh, StepModes: map[string]rondo.CacheMode{"a": rondo.CacheOnly}}
	if ModeOf(o, "a") != rondo.CacheOnly || ModeOf(o, "b") != rondo.CacheRefresh || ModeOf(rondo.RunOptions{}, "a") != rondo.CacheUse {
		t.Error("step before run before use")
	}
}

func TestSentencesAreThereForEveryReasonAndDiffer(t *testing.T) {
	t.Parallel()
	all := []rondo.Reason{
		{Code: rondo.ReasonFirstRun},
		{Code: rondo.ReasonFirstRun, Detail: DetailRunOnly},
		{Code: rondo.ReasonInputChanged, Detail: "brief"},
		{Code: rondo.ReasonSkillChanged},
		{Code: rondo.ReasonConfigChanged},
		{Code: rondo.ReasonConfigChanged, Detail: "model"},
		{Code: rondo.ReasonPromptChanged, Detail: "system"},
		{Code: rondo.ReasonSaltRotated},
		{Code: rondo.ReasonExpired},
		{Code: rondo.ReasonEvicted},
		{Code: rondo.ReasonEvicted, Detail: DetailTainted},
		{Code: rondo.ReasonArtifactMissing},
		{Code: rondo.ReasonForced},
		{Code: rondo.ReasonForced, Detail: "full_rebuild"},
		{Code: rondo.ReasonUncacheable, Detail: KeyDisabled},
		{Code: rondo.ReasonUncacheable, Detail: "/x twice"},
		{Code: rondo.ReasonRefresh},
		{Code: rondo.ReasonRefresh, Detail: DetailBypass},
		{Code: rondo.ReasonRefresh, Detail: DetailVerify},
		{Code: rondo.ReasonBase},
		{Code: rondo.ReasonCacheHot},
		{Code: rondo.ReasonCacheCold},
		{Code: rondo.ReasonCutoff},
		{Code: rondo.ReasonInflight},
	}
	seen := map[string]rondo.Reason{}
	for _, r := range all {
		text := Sentence(r)
		if other, twice := seen[text]; text == "" || twice {
			t.Errorf("%s: %q (as %s)", r, text, other)
		}
		seen[text] = r
	}
	if got := Sentence(all[2]); got != `the input "brief" is not what it was` {
		t.Error(got)
	}
	if got := Sentence(rondo.Reason{Code: "unheard_of"}); got != "" {
		t.Error(got)
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, `{"name":"a","version":"1.0.0","steps":[`+step("a")+","+step("b")+","+step("c")+`],"changes":{"x.update":["c"],"y.update":["a","b"]}}`)
	for _, tc := range []struct {
		change string
		extra  []string
		want   string // of ids
		says   string
	}{
		{"x.update", nil, "c", ""},
		{"x.update", []string{"a", "c"}, "a c", ""},
		{"x.update", []string{"gone"}, "c", ""},
		{"", []string{"b"}, "b", ""},
		{"", []string{"gone"}, "", "none of the steps"},
		{"", nil, "", "knows no change"},
		{"z.update", []string{"a"}, "", `knows no change of type "z.update"`},
	} {
		seeds, all, err := w.Seeds(tc.change, tc.extra)
		if tc.says != "" {
			if e, ok := err.(*rondo.Error); !ok || e.Code != rondo.CodeInvalid || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, "x.update, y.update") {
				t.Errorf("Seeds(%q, %v): %v", tc.change, tc.extra, err)
			}
			continue
		}
		if err != nil || all || strings.Join(ids(w, seeds), " ") != tc.want {
			t.Errorf("Seeds(%q, %v) = %v, %t, %v", tc.change, tc.extra, ids(w, seeds), all, err)
		}
	}
}

func TestChangedSteps(t *testing.T) {
	t.Parallel()
	const base = `{"name":"a","version":"1.0.0","steps":[
		{"id":"a","skill":"s@1","input":{"x":{"trigger":"x"},"p":{"merge":[{"registry":{"prompt":"tone","version":"1"}}]}},"timeout":"1m"},
		{"id":"b","skill":"s@2","depends_on":["a"],"cache":{"salt":"1"},"output_schema":{"type":"object"}},
		{"id":"c","skill":"s@2","depends_on":["a","b"]}],
		"skills":{"s@1":{"type":"exec","config":{"command":"c"}},"s@2":{"type":"exec"}},"prompts":{"tone":{"1":{"t":"kind"}}}}`
	old := mustCompile(t, base)
	for _, tc := range []struct{ name, from, to, want string }{
		{"nothing", "", "", ""},
		{"how long", `"1m"`, `"2m"`, ""},
		{"order of dependencies", `["a","b"]`, `["b","a"]`, ""},
		{"input", `{"trigger":"x"}`, `{"trigger":"y"}`, "a"},
		{"config of its skill", `"command":"c"`, `"command":"d"`, "a"},
		{"prompt it reads", `"kind"`, `"rude"`, "a"},
		{"type of a skill", `"s@2":{"type":"exec"}`, `"s@2":{"type":"http"}`, "b c"},
		{"skill", `"id":"b","skill":"s@2"`, `"id":"b","skill":"s@1"`, "b"},
		{"salt", `"salt":"1"`, `"salt":"2"`, "b"},
		{"schema", `{"type":"object"}`, `{"type":"array"}`, "b"},
		{"dependencies", `["a","b"]`, `["b"]`, "c"},
		{"new step", `"id":"c"`, `"id":"d"`, "d"},
	} {
		next := mustCompile(t, strings.Replace(base, tc.from, tc.to, 1))
		if got := strings.Join(ids(next, next.ChangedSteps(old)), " "); got != tc.want {
			t.Errorf("%s: changed %q, want %q", tc.name, got, tc.want)
		}
	}
}
