package app

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/metrics"
)

func TestSettingsThatCannotWorkAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	exchange := CopilotOptions{EnvironmentID: "a47151cf-4f34-488f-b377-ebe84e17b478", SchemaName: "s", TenantID: "t", ClientID: "c", ClientSecret: secret}
	with := func(change func(*CopilotOptions)) ChatOptions {
		o := exchange
		change(&o)
		return ChatOptions{Provider: ProviderCopilot, Copilot: o}
	}
	for name, tc := range map[string]struct {
		options ChatOptions
		names   string // what the message must name; "" = it works
	}{
		"no agent":              {ChatOptions{}, ""},
		"echo":                  {ChatOptions{Provider: ProviderEcho}, ""},
		"the demo":              {ChatOptions{Provider: ProviderScripted}, ""},
		"an exchange of tokens": {with(func(*CopilotOptions) {}), ""},
		"one token for a trial": {with(func(o *CopilotOptions) { o.TenantID, o.Token = "", secret }), ""},
		"a model without a key": {ChatOptions{Provider: ProviderOpenAI, OpenAI: OpenAIOptions{BaseURL: "http://127.0.0.1:1/v1"}}, ""},
		"an unknown provider":   {ChatOptions{Provider: "gemini"}, "LLM_PROVIDER"},
		"no environment":        {ChatOptions{Provider: ProviderCopilot}, "COPILOT_ENVIRONMENT_ID"},
		"no schema name":        {with(func(o *CopilotOptions) { o.SchemaName = "" }), "COPILOT_SCHEMA_NAME"},
		"no client":             {with(func(o *CopilotOptions) { o.ClientID = "" }), "COPILOT_CLIENT_ID"},
		"an unknown cloud":      {with(func(o *CopilotOptions) { o.Cloud = "Cumulus" }), "copilot"},
		"no address":            {with(func(o *CopilotOptions) { o.DirectConnectURL = "ftp://x:" + secret + "@y" }), "COPILOT_DIRECT_CONNECT_URL"},
		"no model at all":       {ChatOptions{Provider: ProviderOpenAI}, "OPENAI_API_KEY"},
		"a bad base":            {ChatOptions{Provider: ProviderOpenAI, OpenAI: OpenAIOptions{BaseURL: "api.example.org", APIKey: secret}}, "OPENAI_BASE_URL"},
		"no such script":        {ChatOptions{Provider: ProviderScripted, Script: "/nowhere/script.yaml"}, "scripted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agents, err := newAgents(tc.options, metrics.New(metrics.Options{}).Chat())
			switch {
			case tc.names == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.names == "" && tc.options.Provider != "" && agents[tc.options.Provider] == nil:
				t.Error("there is no such agent")
			case tc.names != "" && (err == nil || !strings.Contains(err.Error(), tc.names) || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v, want one line that names %s", err, tc.names)
			case tc.names != "" && rondo.CodeOf(err) != rondo.CodeInvalid:
				t.Errorf("the code is %s, want invalid", rondo.CodeOf(err))
			case err != nil && strings.Contains(err.Error(), secret):
				t.Errorf("the message shows a secret: %v", err)
			}
		})
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	options := ChatOptions{OpenAI: OpenAIOptions{APIKey: secret}, Copilot: CopilotOptions{ClientSecret: secret, Token: secret}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("options", "key", options.OpenAI.APIKey, "all", options)
	for _, shown := range []string{fmt.Sprint(options), fmt.Sprintf("%+v", options), fmt.Sprintf("%#v", options), log.String()} {
		if strings.Contains(shown, secret) || !strings.Contains(shown, "***") {
			t.Errorf("shown as %s", shown)
		}
	}
}
