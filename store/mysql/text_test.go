package mysql

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

func TestValuesAreQuoted(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{nil, "NULL"},
		{int64(-7), "-7"},
		{"", "_binary''"},
		{"plain", "_binary'plain'"},
		{"it's", `_binary'it\'s'`},
		{`a\`, `_binary'a\\'`},
		{"'; DROP TABLE instances; --", `_binary'\'; DROP TABLE instances; --'`},
		{[]byte{0, 'x', 0x1a, 0xff}, "_binary'\\0x\\Z\xff'"},
		{"é", "_binary'é'"},
	}
	for _, test := range tests {
		if got := string(appendValue(nil, test.value)); got != test.want {
			t.Errorf("%q is written %s, want %s", test.value, got, test.want)
		}
	}
}

func TestKeysOfAnOrgShareOneList(t *testing.T) {
	keys := []rondo.CaseKey{{OrgID: "a", CaseID: "1"}, {OrgID: "a", CaseID: "2"}, {OrgID: "b", CaseID: "1"}}
	const want = "((org_id=_binary'a' AND case_id IN (_binary'1',_binary'2')) OR (org_id=_binary'b' AND case_id IN (_binary'1')))"
	if got := string(appendCases(nil, "", keys)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestURLs(t *testing.T) {
	tests := []struct{ url, user, password, address, database string }{
		{"mysql://rondo:secret@db:3307/work", "rondo", "secret", "db:3307", "work"},
		{"mariadb://rondo@db/work", "rondo", "", "db:3306", "work"},
		{"mysql://a:p%40ss%2F@[::1]:3306/work?tls=false", "a", "p@ss/", "[::1]:3306", "work"},
	}
	for _, test := range tests {
		config, err := parseURL(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if config.User != test.user || config.Passwd != test.password || config.Addr != test.address || config.DBName != test.database {
			t.Errorf("%s is %s:%s at %s/%s", test.url, config.User, config.Passwd, config.Addr, config.DBName)
		}
	}
	for _, url := range []string{"", "postgres://a@b/c", "mysql://host", "mysql:///db", "mysql://a@b/c?nonsense=%zz"} {
		_, err := parseURL(url)
		if rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q: error %v, want code invalid", url, err)
		}
	}
}
