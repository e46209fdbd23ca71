package definition

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/turn"
)

// checkConversation judges a conversation as the turns that it will drive read it.
// What a schema may refer to is judged here, as for every schema of a tenant.
func checkConversation(body json.RawMessage, p *problems) {
	var written struct {
		OutputSchema json.RawMessage            `json:"outputSchema"`
		Agent        map[string]json.RawMessage `json:"agent"`
	}
	if err := json.Unmarshal(body, &written); err != nil {
		p.add("invalid_json", "", "%s", err)
		return
	}
	readSchema(written.OutputSchema, "/outputSchema", p)
	compiled, wrong := turn.Compile(body)
	for _, problem := range wrong {
		if !strings.HasPrefix(problem.Pointer, "/outputSchema") { // said above, in the words of all schemas
			p.errors = append(p.errors, problem)
		}
	}
	if compiled != nil && len(p.errors) == 0 {
		p.warnings = append(p.warnings, compiled.Check()...)
		warnOfAgent(written.Agent, compiled.Agent.Provider, p)
	}
}

// warnOfAgent tells what no agent that comes with Rondo reads. It is no error: a
// program that Rondo is part of may bring agents of its own.
func warnOfAgent(written map[string]json.RawMessage, provider string, p *problems) {
	providers := []string{"copilot", "openai", "scripted", "echo"}
	if provider != "" && !slices.Contains(providers, provider) {
		p.warn("unknown_value", "/agent/provider", "%s is none of the agents %s%s", quote(provider), list(providers, "and"), suggestion(provider, providers))
	}
	ofModels := []string{"instructions", "model", "temperature"}
	for _, name := range sortedKeys(written) {
		at := "/agent" + pointer(name)
		switch {
		case name == "provider":
		case !slices.Contains(ofModels, name):
			p.warn("unknown_member", at, "no agent reads this: leave it out%s", suggestion(name, append(ofModels, "provider")))
		case provider != "openai" && slices.Contains(providers, provider):
			p.warn("member_unread", at, "the agent %s does not read this: leave it out, or name openai", quote(provider))
		}
	}
}
