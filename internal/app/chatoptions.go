package app

import (
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// ChatOptions is what conversations need to know. The zero value holds none: no
// agent is there to hold them with.
type ChatOptions struct {
	// Provider names the agent that answers unless a definition names another:
	// copilot, openai, scripted or echo; "" = conversations are not served.
	Provider string
	// Script is the file of the scripted agent; "" = the demo that is built in.
	Script  string
	Copilot CopilotOptions
	OpenAI  OpenAIOptions

	TTL          time.Duration // see chat.Config, and below
	Lease        time.Duration
	AgentTimeout time.Duration
	Poll         time.Duration
	MaxText      int
	InFlight     int
	Unknown      string // refuse or initialise

	AllowedActions []string
	AllowedDomains []string
	CORSOrigins    []string
}

// CopilotOptions says where a Copilot Studio agent is and how users are known
// there.
type CopilotOptions struct {
	EnvironmentID    string
	SchemaName       string
	Cloud            string
	Host             string // of the cloud Other
	AgentType        string // published or prebuilt
	DirectConnectURL string
	TenantID         string
	ClientID         string
	ClientSecret     Secret
	Token            Secret // one token for everyone, for trials
}

// OpenAIOptions says where an OpenAI-compatible model is.
type OpenAIOptions struct {
	APIKey  Secret
	BaseURL string
	Model   string
}

// Secret is a text that no log and no message ever shows.
type Secret string

// String hides the secret; whether there is one shows.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides it from %#v too.
func (s Secret) GoString() string { return s.String() }

// LogValue hides it from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// The providers of agents.
const (
	ProviderCopilot  = "copilot"
	ProviderOpenAI   = "openai"
	ProviderScripted = "scripted"
	ProviderEcho     = "echo"
)

// given reports whether anything says where the agent is.
func (o CopilotOptions) given() bool { return o.EnvironmentID != "" || o.DirectConnectURL != "" }

// given reports whether anything says which model is meant.
func (o OpenAIOptions) given() bool { return o.APIKey != "" || o.BaseURL != "" || o.Model != "" }

// check refuses settings that could only fail later: the first that is wrong, in
// one line.
func (o ChatOptions) check() error {
	switch o.Provider {
	case "":
		return nil
	case ProviderScripted, ProviderEcho:
	case ProviderCopilot:
		if !o.Copilot.given() {
			return badSetting("LLM_PROVIDER is copilot, but COPILOT_ENVIRONMENT_ID is not set", "set it with COPILOT_SCHEMA_NAME, or set COPILOT_DIRECT_CONNECT_URL")
		}
	case ProviderOpenAI:
		if !o.OpenAI.given() {
			return badSetting("LLM_PROVIDER is openai, but OPENAI_API_KEY is not set", "set it, or OPENAI_BASE_URL for a model that needs no key")
		}
	default:
		return badSetting("LLM_PROVIDER is "+quoted(o.Provider), "use copilot, openai, scripted or echo")
	}
	if o.Copilot.given() {
		if err := o.Copilot.check(); err != nil {
			return err
		}
	}
	for _, setting := range []struct{ name, address string }{{"OPENAI_BASE_URL", o.OpenAI.BaseURL}, {"COPILOT_DIRECT_CONNECT_URL", o.Copilot.DirectConnectURL}} {
		if err := checkAddress(setting.name, setting.address); err != nil {
			return err
		}
	}
	return nil
}

func (o CopilotOptions) check() error {
	switch {
	case o.DirectConnectURL == "" && o.SchemaName == "":
		return badSetting("COPILOT_ENVIRONMENT_ID is set, but COPILOT_SCHEMA_NAME is not", "set it to the schema name of the agent")
	case o.Token != "":
		return nil
	case o.TenantID == "" || o.ClientID == "" || o.ClientSecret == "":
		return badSetting("COPILOT_TENANT_ID, COPILOT_CLIENT_ID and COPILOT_CLIENT_SECRET are not all set", "set them, so that tokens of users can be exchanged; for a trial alone, set COPILOT_TOKEN instead")
	}
	return nil
}

// checkAddress refuses what is not an http address. What it says never has the
// address itself: one may have a password in it.
func checkAddress(name, address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return badSetting(name+" is not an address", "write it as https://host/path")
	}
	return nil
}

func badSetting(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Op: "settings of conversations", Message: message, Hint: hint}
}

func quoted(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return `"` + strings.ToValidUTF8(s, "?") + `"`
}
