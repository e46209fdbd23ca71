package flow

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTimesThatADelayCanRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  string
		want string // "" = no time
	}{
		"UTC":                       {`"2026-01-02T03:04:05Z"`, "2026-01-02T03:04:05Z"},
		"an offset":                 {`"2026-01-02T05:04:05.5+02:00"`, "2026-01-02T03:04:05.5Z"},
		"more than microseconds":    {`"2026-01-02T03:04:05.123456789Z"`, "2026-01-02T03:04:05.123456Z"},
		"escaped text":              {`"2026-01-02T03:04:05\u005a"`, "2026-01-02T03:04:05Z"},
		"epoch milliseconds":        {`1767323045000`, "2026-01-02T03:04:05Z"},
		"milliseconds as a float":   {`1.767323045e12`, "2026-01-02T03:04:05Z"},
		"a part of a millisecond":   {`1767323045000.9`, "2026-01-02T03:04:05Z"},
		"before 1970":               {`-1000`, "1969-12-31T23:59:59Z"},
		"a date":                    {`"2026-01-02"`, ""},
		"a time without an offset":  {`"2026-01-02T03:04:05"`, ""},
		"words":                     {`"tomorrow"`, ""},
		"a number as text":          {`"1767323045000"`, ""},
		"a year beyond 9999":        {`253402300800000`, ""},
		"the last year, elsewhere":  {`"9999-12-31T23:59:59-01:00"`, ""},
		"a year before 0":           {`-62198755200000`, ""},
		"a number without end":      {`1e400`, ""},
		"a number out of all range": {`1e300`, ""},
		"a boolean":                 {`true`, ""},
		"an object":                 {`{"at":1}`, ""},
		"nothing":                   {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, ok := readTime(json.RawMessage(tc.raw))
			if got := at.Format(time.RFC3339Nano); ok != (tc.want != "") || ok && got != tc.want {
				t.Errorf("read %s as %s, %v; want %q", tc.raw, got, ok, tc.want)
			}
		})
	}
}
