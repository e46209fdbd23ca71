package cli

import (
	"time"

	"github.com/rondo-engine/rondo/internal/app"
)

// chatSettings are the settings of conversations that `serve` and `dev` share.
type chatSettings struct {
	RedisTTL     int           `name:"redis-ttl" help:"Seconds after which a conversation without a turn is forgotten, in Redis or in the database." default:"86400" env:"REDIS_TTL" placeholder:"SECONDS"`
	Lease        time.Duration `name:"chat-lease" help:"How long a turn may stand still before another takes the conversation over." default:"10s" env:"RONDO_CHAT_LEASE"`
	AgentTimeout time.Duration `name:"agent-timeout" help:"How long an agent may take to answer, unless the definition says otherwise." default:"30s" env:"RONDO_AGENT_TIMEOUT"`
	ChatInFlight int           `name:"chat-in-flight" help:"Turns under way at once; more are answered 429." default:"1024" env:"RONDO_CHAT_IN_FLIGHT" placeholder:"N"`
	ChatMaxText  int           `name:"chat-max-text" help:"Characters that a user may say at once." default:"4000" env:"RONDO_CHAT_MAX_TEXT" placeholder:"N"`
	ChatUnknown  string        `name:"chat-unknown" help:"What a turn of an unknown conversation meets: refuse (404) or initialise (a fresh one)." enum:"refuse,initialise" default:"refuse" env:"CHAT_UNKNOWN"`

	AllowedActions []string `name:"allowed-action-types" help:"Types of card actions that are accepted. Default: Action.Submit, Action.OpenUrl." env:"ALLOWED_ACTION_TYPES" placeholder:"TYPE"`
	AllowedDomains []string `name:"allowed-domains" help:"Domains that Action.OpenUrl may lead to. Default: none." env:"ALLOWED_DOMAINS" placeholder:"DOMAIN"`
	CORSOrigins    []string `name:"cors-origin" help:"Origins whose pages may call the API. Default: http://localhost:5173." env:"CORS_ORIGIN" placeholder:"ORIGIN"`

	Provider string `name:"llm-provider" help:"Agent that conversations are held with: copilot, openai, scripted or echo. Default: scripted for rondo dev, none for rondo serve: conversations are not served." env:"LLM_PROVIDER" placeholder:"NAME"`
	Script   string `name:"agent-script" help:"Rules of the scripted agent. Default: the demo that is built in." env:"RONDO_AGENT_SCRIPT" type:"path" placeholder:"FILE"`

	copilotSettings
	openAISettings
}

// copilotSettings say where a Copilot Studio agent is.
type copilotSettings struct {
	CopilotEnvironment  string `name:"copilot-environment-id" help:"Environment of the Copilot Studio agent." env:"COPILOT_ENVIRONMENT_ID" placeholder:"ID"`
	CopilotSchema       string `name:"copilot-schema-name" help:"Schema name of the agent." env:"COPILOT_SCHEMA_NAME" placeholder:"NAME"`
	CopilotCloud        string `name:"copilot-cloud" help:"Cloud that the environment is in. Default: Prod." env:"COPILOT_CLOUD" placeholder:"NAME"`
	CopilotHost         string `name:"copilot-host" help:"Host of the cloud Other." env:"COPILOT_HOST" placeholder:"HOST"`
	CopilotType         string `name:"copilot-agent-type" help:"Type of the agent: published or prebuilt. Default: published." env:"COPILOT_AGENT_TYPE" placeholder:"TYPE"`
	CopilotURL          string `name:"copilot-direct-connect-url" help:"Address of the agent, instead of environment, cloud and schema name." env:"COPILOT_DIRECT_CONNECT_URL" placeholder:"URL"`
	CopilotTenant       string `name:"copilot-tenant-id" help:"Directory in which tokens of users are exchanged." env:"COPILOT_TENANT_ID" placeholder:"ID"`
	CopilotClient       string `name:"copilot-client-id" help:"Application that exchanges them." env:"COPILOT_CLIENT_ID" placeholder:"ID"`
	CopilotClientSecret string `name:"copilot-client-secret" help:"Its secret; better given by the environment." env:"COPILOT_CLIENT_SECRET" placeholder:"SECRET"`
	CopilotToken        string `name:"copilot-token" help:"One token for every user, for trials; better given by the environment." env:"COPILOT_TOKEN" placeholder:"TOKEN"`
}

// openAISettings say where an OpenAI-compatible model is.
type openAISettings struct {
	OpenAIKey   string `name:"openai-api-key" help:"Key of the model; better given by the environment." env:"OPENAI_API_KEY" placeholder:"KEY"`
	OpenAIBase  string `name:"openai-base-url" help:"Address of the model's API. Default: that of OpenAI." env:"OPENAI_BASE_URL" placeholder:"URL"`
	OpenAIModel string `name:"openai-model" help:"Model to ask." env:"OPENAI_MODEL" placeholder:"NAME"`
}

// options are the settings as the server takes them.
func (c openAISettings) options() app.OpenAIOptions {
	return app.OpenAIOptions{APIKey: app.Secret(c.OpenAIKey), BaseURL: c.OpenAIBase, Model: c.OpenAIModel}
}

// Validate refuses what cannot work.
func (c chatSettings) Validate() error {
	return firstWrong(
		rule{c.RedisTTL >= 1, "--redis-ttl (REDIS_TTL) must be at least 1 second"},
		rule{c.Lease >= 100*time.Millisecond, "--chat-lease must be at least 100ms"},
		rule{c.AgentTimeout >= 100*time.Millisecond, "--agent-timeout must be at least 100ms"},
		rule{c.ChatInFlight >= 1, "--chat-in-flight must be at least 1"},
		rule{c.ChatMaxText >= 1, "--chat-max-text must be at least 1"},
	)
}

// options are the settings as the server takes them.
func (c chatSettings) options() app.ChatOptions {
	return app.ChatOptions{
		Provider: c.Provider, Script: c.Script,
		Copilot: app.CopilotOptions{
			EnvironmentID: c.CopilotEnvironment, SchemaName: c.CopilotSchema, Cloud: c.CopilotCloud, Host: c.CopilotHost,
			AgentType: c.CopilotType, DirectConnectURL: c.CopilotURL,
			TenantID: c.CopilotTenant, ClientID: c.CopilotClient, ClientSecret: app.Secret(c.CopilotClientSecret), Token: app.Secret(c.CopilotToken),
		},
		OpenAI: c.openAISettings.options(),
		TTL:    time.Duration(c.RedisTTL) * time.Second, Lease: c.Lease, AgentTimeout: c.AgentTimeout,
		MaxText: c.ChatMaxText, InFlight: c.ChatInFlight, Unknown: c.ChatUnknown,
		AllowedActions: c.AllowedActions, AllowedDomains: c.AllowedDomains, CORSOrigins: c.CORSOrigins,
	}
}
