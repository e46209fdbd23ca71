package redis

import (
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		keys keys
		want string
	}{
		{keys{}, "events:case.created"},
		{keys{prefix: "test:"}, "test:events:case.created"},
		{keys{hashTag: "rondo"}, "{rondo}events:case.created"},
		{keys{prefix: "test:", hashTag: "rondo"}, "test:{rondo}events:case.created"},
	} {
		got := c.keys.stream("case.created")
		if got != c.want {
			t.Errorf("%+v: key %q, want %q", c.keys, got, c.want)
		}
		if back := c.keys.eventType(got); back != "case.created" {
			t.Errorf("%+v: event type %q of %q", c.keys, back, got)
		}
	}
}

func TestABadURLIsRefusedWithoutShowingItsPassword(t *testing.T) {
	for _, url := range []string{
		"", "localhost:6379", "http://user:geheim@localhost", "redis://user:geheim@localhost/notanumber",
		"redis://user:geheim@local host", "redis://:geheim@localhost:port/0", "unix://user:geheim@/tmp/redis.sock",
	} {
		_, err := New(url, Options{})
		if rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q: got %v, want code %s", url, err, rondo.CodeInvalid)
			continue
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
}

func TestTLSByURL(t *testing.T) {
	b := open(t, "rediss://user:geheim@redis.example:6380/3", Options{})
	defer b.Close()
	o := b.client.Options()
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "redis.example" || o.Addr != "redis.example:6380" || o.DB != 3 {
		t.Errorf("options %+v", o)
	}
}
