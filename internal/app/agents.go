package app

import (
	"cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/breaker"
	"github.com/rondo-engine/rondo/agent/copilot"
	"github.com/rondo-engine/rondo/agent/echo"
	"github.com/rondo-engine/rondo/agent/openai"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/internal/metrics"
)

// newAgents makes every agent that the settings describe, by provider: the chosen
// one, and those that a definition may name beside it. Each is behind a breaker.
func newAgents(o ChatOptions, m metrics.Chat) (map[string]agent.Agent, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	all := map[string]agent.Agent{}
	add := func(provider string, a agent.Agent, err error) error {
		if err != nil {
			return rondo.Op("settings of the agent "+provider, err)
		}
		m.SetBreaker(provider, false)
		all[provider] = breaker.New(a, breaker.Config{OnChange: func(open bool) { m.SetBreaker(provider, open) }})
		return nil
	}
	if o.Provider == ProviderCopilot || o.Copilot.given() {
		a, err := newCopilot(o.Copilot)
		if err := add(ProviderCopilot, a, err); err != nil {
			return nil, err
		}
	}
	if o.Provider == ProviderOpenAI || o.OpenAI.given() {
		a, err := openai.New(openai.Config{BaseURL: o.OpenAI.BaseURL, Key: string(o.OpenAI.APIKey), Model: cmp.Or(o.OpenAI.Model, defaultModel)})
		if err := add(ProviderOpenAI, a, err); err != nil {
			return nil, err
		}
	}
	if o.Provider == ProviderScripted || o.Script != "" {
		a, err := newScripted(o.Script)
		if err := add(ProviderScripted, a, err); err != nil {
			return nil, err
		}
	}
	if o.Provider == ProviderEcho {
		if err := add(ProviderEcho, echo.Agent{}, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// defaultModel is asked when no model is named.
const defaultModel = "gpt-4o-mini"

func newCopilot(o CopilotOptions) (*copilot.Agent, error) {
	cfg := copilot.Config{
		EnvironmentID: o.EnvironmentID, SchemaName: o.SchemaName, Cloud: copilot.Cloud(o.Cloud), CustomHost: o.Host,
		BotType: copilot.BotType(o.AgentType), DirectConnectURL: o.DirectConnectURL,
	}
	if o.Token != "" {
		cfg.Tokens = copilot.StaticToken(o.Token)
		return copilot.New(cfg)
	}
	scope, err := copilot.Scope(cfg.Cloud, cfg.CustomHost)
	if err != nil {
		return nil, err
	}
	if cfg.Tokens, err = copilot.NewOnBehalfOf(copilot.OnBehalfOfConfig{
		TenantID: o.TenantID, ClientID: o.ClientID, ClientSecret: string(o.ClientSecret), Scope: scope,
	}); err != nil {
		return nil, err
	}
	return copilot.New(cfg)
}

func newScripted(file string) (*scripted.Agent, error) {
	read := scripted.Demo
	if file != "" {
		read = func() (*scripted.Script, error) { return scripted.Load(file) }
	}
	script, err := read()
	if err != nil {
		return nil, err
	}
	return scripted.New(script), nil
}
