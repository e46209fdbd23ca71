package copilot

import (
	"net/url"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

const environment = "A47151CF-4F34-488F-B377-EBE84E17B478"

func TestTheAddressOfConversations(t *testing.T) {
	t.Parallel()
	const (
		two  = "https://a47151cf4f34488fb377ebe84e17b4.78.environment."
		one  = "https://a47151cf4f34488fb377ebe84e17b47.8.environment."
		path = "/copilotstudio/dataverse-backed/authenticated/bots/contoso_help/conversations"
		api  = "?api-version=2022-03-01-preview"
	)
	tests := map[string]struct {
		cfg   Config
		start string
		turn  string // of the conversation c-1
	}{
		"zero value":   {Config{}, two + "api.powerplatform.com" + path + api, two + "api.powerplatform.com" + path + "/c-1" + api},
		"Prod":         {Config{Cloud: Prod}, two + "api.powerplatform.com" + path + api, ""},
		"FirstRelease": {Config{Cloud: FirstRelease}, two + "api.powerplatform.com" + path + api, ""},
		"Preprod":      {Config{Cloud: Preprod}, one + "api.preprod.powerplatform.com" + path + api, ""},
		"Gov":          {Config{Cloud: Gov}, one + "api.gov.powerplatform.microsoft.us" + path + api, ""},
		"High":         {Config{Cloud: High}, one + "api.high.powerplatform.microsoft.us" + path + api, ""},
		"DoD":          {Config{Cloud: DoD}, one + "api.appsplatform.us" + path + api, ""},
		"Mooncake":     {Config{Cloud: Mooncake}, one + "api.powerplatform.partner.microsoftonline.cn" + path + api, ""},
		"Other":        {Config{Cloud: Other, CustomHost: "api.example.com"}, one + "api.example.com" + path + api, ""},
		"prebuilt": {
			Config{BotType: Prebuilt}, two + "api.powerplatform.com" + strings.Replace(path, "dataverse-backed", "prebuilt", 1) + api, "",
		},
		"a name that needs escaping": {
			Config{SchemaName: "a/b ?#%ü"},
			two + "api.powerplatform.com/copilotstudio/dataverse-backed/authenticated/bots/a%2Fb%20%3F%23%25%C3%BC/conversations" + api, "",
		},
		"a name of dots": {
			Config{SchemaName: ".."}, two + "api.powerplatform.com/copilotstudio/dataverse-backed/authenticated/bots/%2E%2E/conversations" + api, "",
		},
		"direct": {
			Config{DirectConnectURL: "https://host.example/copilotstudio/bots/b"},
			"https://host.example/copilotstudio/bots/b/conversations" + api, "https://host.example/copilotstudio/bots/b/conversations/c-1" + api,
		},
		"direct with a version of its own": {
			Config{DirectConnectURL: "https://host.example/b/?api-version=2024-01-01&x=1"},
			"https://host.example/b/conversations?api-version=2024-01-01&x=1", "https://host.example/b/conversations/c-1?api-version=2024-01-01&x=1",
		},
		"direct to conversations": {
			Config{DirectConnectURL: "https://host.example/b/conversations/"}, "https://host.example/b/conversations" + api, "",
		},
		"direct to one conversation": {
			Config{DirectConnectURL: "https://host.example/b/conversations/old" + api}, "https://host.example/b/conversations" + api, "",
		},
		"direct with an escaped path": {
			Config{DirectConnectURL: "https://host.example/a%2Fb"}, "https://host.example/a%2Fb/conversations" + api, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := test.cfg
			if cfg.DirectConnectURL == "" {
				cfg.EnvironmentID = environment
				if cfg.SchemaName == "" {
					cfg.SchemaName = "contoso_help"
				}
			}
			base, err := conversationsURL(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := withConversation(base, ""); got != test.start {
				t.Errorf("start: %s\nwant   %s", got, test.start)
			}
			if got := withConversation(base, "c-1"); test.turn != "" && got != test.turn {
				t.Errorf("turn: %s\nwant  %s", got, test.turn)
			}
		})
	}
}

func TestAConversationStaysBelowItsAgent(t *testing.T) {
	t.Parallel()
	base, err := conversationsURL(Config{EnvironmentID: environment, SchemaName: "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"..", ".", "../../x", "a/b", "a?b=c", "a#b", "%2F", "ü 😀", "a%", "..;"} {
		text := withConversation(base, id)
		back, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		last := strings.TrimPrefix(back.EscapedPath(), base.EscapedPath()+"/")
		if got, err := url.PathUnescape(last); err != nil || got != id || strings.Contains(last, "/") {
			t.Errorf("the conversation %q is at %s, whose last element reads %q (%v)", id, text, got, err)
		}
		if back.RawQuery != base.RawQuery || back.Host != base.Host {
			t.Errorf("the conversation %q is at %s: another host or query", id, text)
		}
	}
}

func TestAConfigurationThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	token := StaticToken("t")
	for name, cfg := range map[string]Config{
		"nothing":               {Tokens: token},
		"no environment":        {SchemaName: "b", Tokens: token},
		"no name":               {EnvironmentID: environment, Tokens: token},
		"a host in the id":      {EnvironmentID: "evil.example/", SchemaName: "b", Tokens: token},
		"an id too short":       {EnvironmentID: "a-1", SchemaName: "b", Tokens: token},
		"no such cloud":         {EnvironmentID: environment, SchemaName: "b", Cloud: "Moon", Tokens: token},
		"Other without a host":  {EnvironmentID: environment, SchemaName: "b", Cloud: Other, Tokens: token},
		"Other with a path":     {EnvironmentID: environment, SchemaName: "b", Cloud: Other, CustomHost: "a/b", Tokens: token},
		"Other with a user":     {EnvironmentID: environment, SchemaName: "b", Cloud: Other, CustomHost: "a@b", Tokens: token},
		"no such type":          {EnvironmentID: environment, SchemaName: "b", BotType: "robot", Tokens: token},
		"direct without a host": {DirectConnectURL: "/conversations", Tokens: token},
		"direct by file":        {DirectConnectURL: "file://host/x", Tokens: token},
		"no tokens":             {EnvironmentID: environment, SchemaName: "b"},
	} {
		if _, err := New(cfg); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%s: %v, want code invalid", name, err)
		}
	}
}

func TestNamesAreReadInAnyCase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Cloud{"": Prod, "prod": Prod, "FIRSTRELEASE": FirstRelease, "dod": DoD, "Other": Other} {
		if got, err := ParseCloud(name); got != want || err != nil {
			t.Errorf("the cloud %q is %q, %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]BotType{"": Published, "Published": Published, "PREBUILT": Prebuilt} {
		if got, err := ParseBotType(name); got != want || err != nil {
			t.Errorf("the type %q is %q, %v, want %q", name, got, err, want)
		}
	}
	_, err := ParseCloud("moon")
	_, err2 := ParseBotType("robot")
	if rondo.CodeOf(err) != rondo.CodeInvalid || rondo.CodeOf(err2) != rondo.CodeInvalid {
		t.Errorf("unknown names give %v and %v, want code invalid", err, err2)
	}
}

func TestTheScopeOfTokens(t *testing.T) {
	t.Parallel()
	for cloud, want := range map[Cloud]string{
		"": "https://api.powerplatform.com/.default", Preprod: "https://api.preprod.powerplatform.com/.default",
		Other: "https://api.example.com/.default",
	} {
		if got, err := Scope(cloud, "api.example.com"); got != want || err != nil {
			t.Errorf("the scope of %q is %q, %v, want %q", cloud, got, err, want)
		}
	}
}
