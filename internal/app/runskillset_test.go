package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

func TestRequestsGoToThePortsThatTheOperatorNames(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ports []int
		ok    bool
	}{"none": {nil, false}, "another": {[]int{1}, false}, "this": {[]int{1, port}, true}, "any": {[]int{0}, true}} {
		set, err := newSkillSet(SkillOptions{Private: []string{"127.0.0.0/8"}, PlainHTTP: true, Ports: test.ports})
		if err != nil {
			t.Fatal(err)
		}
		s, err := set.Skill("get@1", skill.Spec{Type: "http", Config: []byte(`{"url":"` + server.URL + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Do(t.Context(), skill.Call{RunID: rondo.ID{1}, StepID: "get", Attempt: 1, Input: []byte(`{}`)})
		if err != nil || result.OK != test.ok {
			t.Errorf("%s: %+v, %v, want ok %v", name, result, err, test.ok)
		}
	}
}
