package app

import (
	"net/netip"
	"os"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/demo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skills"
)

// SkillOptions is what an operator allows to the skills of runs. The zero value
// allows templates, and https requests to public addresses without secrets.
type SkillOptions struct {
	AllowExec bool     // commands may run
	ExecDirs  []string // folders that they may run in beside their own
	// Private are ranges of addresses that requests may reach although they are not
	// public, such as 10.1.0.0/16.
	Private   []string
	PlainHTTP bool // http is good enough
	// Ports that requests may go to, beside none else; empty = 443, and 80 with
	// PlainHTTP; 0 = any.
	Ports []int
	// Secrets say which variable may go to which host: NAME=HOST, or NAME=* for any.
	Secrets []string
	Model   OpenAIOptions // of llm skills that name none; its key is read from OPENAI_API_KEY

	own map[string]skill.Skill // skills of this program; nil = none
}

// newSkillSet makes the skills of what an operator allows.
func newSkillSet(o SkillOptions) (*skills.Set, error) {
	opts := skills.Options{
		AllowExec: o.AllowExec, ExecDirs: o.ExecDirs, AllowPlainHTTP: o.PlainHTTP, Ports: o.Ports, Go: o.own,
		LLM: skills.LLM{BaseURL: o.Model.BaseURL, Model: o.Model.Model},
	}
	for _, text := range o.Private {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, badSkillSetting(quoted(text)+" is no range of addresses", "write it as 10.1.0.0/16")
		}
		opts.AllowPrivate = append(opts.AllowPrivate, prefix)
	}
	hosts := map[string][]string{}
	for _, text := range o.Secrets {
		name, host, ok := strings.Cut(text, "=")
		if !ok || name == "" || host == "" {
			return nil, badSkillSetting("a secret is given without a host", "write it as NAME=HOST: the variable and the host that may have it")
		}
		hosts[name] = append(hosts[name], host)
	}
	if host := skills.HostOf(modelAddress(o.Model.BaseURL)); host != "" { // the operator chose where the key goes
		hosts[modelKey] = append(hosts[modelKey], host)
	}
	opts.Secret = skills.EnvSecrets(os.Getenv, hosts)
	return skills.New(opts), nil
}

// modelKey is the variable with the key of the operator's model.
const modelKey = "OPENAI_API_KEY"

// modelAddress is where the operator's model is.
func modelAddress(given string) string {
	if given == "" {
		return "https://api.openai.com/v1"
	}
	return given
}

func badSkillSetting(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Op: "settings of skills", Message: message, Hint: hint}
}

// simulatedSpeed makes the simulated skills of the demo take tenths of seconds
// instead of seconds.
const simulatedSpeed = 8

// simulatedSkills do the work of the campaign example.
func simulatedSkills() map[string]skill.Skill {
	return demo.SimulatedSkills(demo.SkillOptions{Speed: simulatedSpeed})
}
