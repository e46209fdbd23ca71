package turn

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// DefaultCardActions are the actions that cards may send where nothing else is
// configured.
func DefaultCardActions() []string { return []string{"Action.Submit", actionOpenURL} }

const actionOpenURL = "Action.OpenUrl"

// CheckCardAction judges what a card sends before anything else happens: its
// action must be allowed (nil = DefaultCardActions), and one that opens an address
// needs https and a host that is, or is under, an allowed domain. Its error is
// CodeCardRefused.
func CheckCardAction(submit json.RawMessage, allowedActions, allowedDomains []string) error {
	if allowedActions == nil {
		allowedActions = DefaultCardActions()
	}
	members, _ := object(submit)
	if raw := members["action"]; isNull(raw) || string(raw) == `""` {
		return refused("Missing action type", "send submitData.action")
	}
	action, ok := text(members["action"])
	switch {
	case !ok:
		return refused("Action type must be a string", "send submitData.action as a string")
	case !slices.Contains(allowedActions, action):
		return refused("Action type not allowed", "allowed are "+strings.Join(allowedActions, ", "))
	case action != actionOpenURL:
		return nil
	}
	address, ok := text(members["url"])
	if !ok || address == "" {
		return refused("Missing URL", "send submitData.url")
	}
	return checkAddress(address, allowedDomains)
}

// checkAddress refuses everything that a browser could read in another way.
func checkAddress(address string, domains []string) error {
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return refused("Invalid URL", "an address has no spaces, control characters or backslashes")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.User != nil || u.Hostname() == "" && u.Scheme == "https":
		return refused("Invalid URL", "send a plain https address with a host")
	case u.Scheme != "https":
		return refused("URL must use https", "send an https address")
	}
	host := plainHost(u.Hostname())
	for _, domain := range domains {
		domain = plainHost(domain)
		if domain != "" && (host == domain || strings.HasSuffix(host, "."+domain)) {
			return nil
		}
	}
	return refused("URL domain not allowed", "the host must be, or be under, an allowed domain")
}

// plainHost writes a host as hosts are compared.
func plainHost(host string) string {
	return strings.Trim(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(host)), "*"), ".")
}

func refused(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeCardRefused, Message: message, Hint: hint}
}
