package skills

import (
	"net/url"
	"slices"
	"strings"
)

// EnvSecrets lets each variable go to the hosts that are named for it. "*" is every
// host: right only where whoever writes workflows may see the variable anyway.
func EnvSecrets(getenv func(string) string, hosts map[string][]string) func(name, host string) (string, bool) {
	return func(name, host string) (string, bool) {
		allowed := hosts[name]
		if !slices.Contains(allowed, "*") && !slices.ContainsFunc(allowed, func(h string) bool { return strings.EqualFold(h, host) }) {
			return "", false
		}
		value := getenv(name)
		return value, value != ""
	}
}

// HostOf is the host of a URL, for EnvSecrets; "" when it has none.
func HostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
