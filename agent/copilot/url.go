package copilot

import (
	"net/url"
	"strings"

	"github.com/rondo-engine/rondo"
)

const apiVersion = "2022-03-01-preview"

// Cloud is where an environment lives. The zero value is Prod.
type Cloud string

// The clouds of Power Platform.
const (
	Prod         Cloud = "Prod"
	FirstRelease Cloud = "FirstRelease"
	Preprod      Cloud = "Preprod"
	Gov          Cloud = "Gov"
	High         Cloud = "High"
	DoD          Cloud = "DoD"
	Mooncake     Cloud = "Mooncake"
	Other        Cloud = "Other" // with a host of its own
)

// cloudHosts are the API's host of each cloud, and how many characters of the
// environment's id are its own label.
var cloudHosts = map[Cloud]struct {
	suffix string
	tail   int
}{
	Prod:         {"api.powerplatform.com", 2},
	FirstRelease: {"api.powerplatform.com", 2},
	Preprod:      {"api.preprod.powerplatform.com", 1},
	Gov:          {"api.gov.powerplatform.microsoft.us", 1},
	High:         {"api.high.powerplatform.microsoft.us", 1},
	DoD:          {"api.appsplatform.us", 1},
	Mooncake:     {"api.powerplatform.partner.microsoftonline.cn", 1},
	Other:        {"", 1},
}

// BotType is how an agent was made. The zero value is Published.
type BotType string

// The types of agent.
const (
	Published BotType = "published"
	Prebuilt  BotType = "prebuilt"
)

// ParseCloud reads the name of a cloud in any case; "" is Prod.
func ParseCloud(name string) (Cloud, error) {
	if name == "" {
		return Prod, nil
	}
	for cloud := range cloudHosts {
		if strings.EqualFold(name, string(cloud)) {
			return cloud, nil
		}
	}
	return "", invalid("there is no cloud of that name", "use Prod, FirstRelease, Preprod, Gov, High, DoD, Mooncake, or Other with a host")
}

// ParseBotType reads the name of a type in any case; "" is Published.
func ParseBotType(name string) (BotType, error) {
	for _, kind := range []BotType{Published, Prebuilt} {
		if strings.EqualFold(name, string(kind)) {
			return kind, nil
		}
	}
	if name == "" {
		return Published, nil
	}
	return "", invalid("there is no type of agent of that name", "use published or prebuilt")
}

// Scope is what tokens for agents of a cloud are asked for; host is the custom one
// of Other.
func Scope(cloud Cloud, host string) (string, error) {
	suffix, _, err := cloudHost(cloud, host)
	if err != nil {
		return "", err
	}
	return "https://" + suffix + "/.default", nil
}

func cloudHost(cloud Cloud, custom string) (suffix string, tail int, err error) {
	if cloud == "" {
		cloud = Prod
	}
	known, there := cloudHosts[cloud]
	if !there {
		return "", 0, invalid("there is no cloud of that name", "use Prod, FirstRelease, Preprod, Gov, High, DoD, Mooncake, or Other with a host")
	}
	if cloud != Other {
		return known.suffix, known.tail, nil
	}
	if parsed, err := url.Parse("https://" + custom); err != nil || custom == "" || parsed.Host != custom {
		return "", 0, invalid("the cloud Other needs the host of its API", "give a host without scheme and path, such as api.example.com")
	}
	return custom, known.tail, nil
}

// conversationsURL is where conversations of the agent are opened.
func conversationsURL(cfg Config) (*url.URL, error) {
	if cfg.DirectConnectURL != "" {
		return directURL(cfg.DirectConnectURL)
	}
	suffix, tail, err := cloudHost(cfg.Cloud, cfg.CustomHost)
	if err != nil {
		return nil, err
	}
	id := strings.ReplaceAll(strings.ToLower(cfg.EnvironmentID), "-", "")
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	if len(id) <= tail || strings.ContainsFunc(id, odd) {
		return nil, invalid("the environment id is missing or has other characters than letters, digits and dashes",
			"copy it from the agent's settings in Copilot Studio, under metadata")
	}
	if cfg.SchemaName == "" {
		return nil, invalid("the agent's schema name is missing", "copy it from the agent's settings in Copilot Studio, under metadata")
	}
	kind := "dataverse-backed"
	switch cfg.BotType {
	case "", Published:
	case Prebuilt:
		kind = "prebuilt"
	default:
		return nil, invalid("there is no type of agent of that name", "use published or prebuilt")
	}
	split := len(id) - tail
	base := &url.URL{
		Scheme:   "https",
		Host:     id[:split] + "." + id[split:] + ".environment." + suffix,
		Path:     "/",
		RawQuery: "api-version=" + apiVersion,
	}
	return base.JoinPath("copilotstudio", kind, "authenticated", "bots", segment(cfg.SchemaName), "conversations"), nil
}

// directURL makes a connection string the address of conversations: whatever it
// already has of path and version is kept.
func directURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, invalid("the direct connect URL is not a URL", "copy the connection string from the agent's channel page in Copilot Studio")
	}
	base.Fragment, base.RawFragment = "", ""
	path := strings.TrimRight(base.EscapedPath(), "/")
	if before, _, found := strings.Cut(path+"/", "/conversations/"); found {
		path = before
	}
	if base.Path, err = url.PathUnescape(path + "/conversations"); err != nil {
		return nil, invalid("the direct connect URL is not a URL", "copy the connection string from the agent's channel page in Copilot Studio")
	}
	base.RawPath = path + "/conversations"
	if query := base.Query(); !query.Has("api-version") {
		query.Set("api-version", apiVersion)
		base.RawQuery = query.Encode()
	}
	return base, nil
}

// withConversation is the address of one conversation, or of all when id is empty.
func withConversation(base *url.URL, id string) string {
	if id == "" {
		return base.String()
	}
	return base.JoinPath(segment(id)).String()
}

// segment escapes one element of a path. Dots alone would be taken for steps along
// it.
func segment(text string) string {
	if strings.Trim(text, ".") == "" {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

func invalid(message, hint string) *rondo.Error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: message, Hint: hint}
}
