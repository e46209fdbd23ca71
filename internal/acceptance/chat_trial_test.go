package acceptance

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
)

// TestATrialWithStandInsTalks does what the README says to try the real drivers
// without an account: a server on each stand-in, and `rondo chat`.
func TestATrialWithStandInsTalks(t *testing.T) {
	t.Parallel()
	binary, address := testenv.RondoBinary(t), freeAddress(t)
	said := &tail{}
	stub := exec.Command(binary, "agent-stub", "--listen", address)
	stub.Stdout = said
	testenv.Start(t, stub)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !poll(ctx, func() bool {
		answer, err := http.Get("http://" + address + "/v1/chat/completions")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	}) {
		t.Fatalf("the stand-ins did not start: %s", said)
	}
	for _, tc := range []struct {
		name  string
		flags []string
		say   string
		want  []string
	}{
		{
			"openai",
			[]string{"--llm-provider", "openai", "--openai-base-url", "http://" + address + "/v1", "--openai-api-key", "trial", "--openai-model", "demo"},
			"hello\nZoe\nBilling\nyes\n",
			[]string{"[complete, 100 %, completed]"},
		},
		{
			"copilot",
			[]string{"--llm-provider", "copilot", "--copilot-direct-connect-url", "http://" + address + "/copilot/conversations", "--copilot-token", "trial"},
			"Can I return this?\n",
			[]string{"Contoso Help", "30 days", "gather_info"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newChatGround(t, pair{store: "sqlite"})
			p := startProgram(t, append(append([]string{"serve", "--migrate", "--no-auth-required"}, g.flags...), tc.flags...)...)
			talk := exec.CommandContext(ctx, binary, "chat", "--server", "http://"+p.address)
			talk.Stdin = strings.NewReader(tc.say)
			var out bytes.Buffer
			talk.Stdout, talk.Stderr = &out, &out
			if err := talk.Run(); err != nil {
				t.Fatalf("rondo chat: %v\n%s\n%s", err, &out, p.errors)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("nothing says %q:\n%s", want, &out)
				}
			}
		})
	}
}
