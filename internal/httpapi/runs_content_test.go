package httpapi_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

const contentPath = "/artifacts/01000000-0000-7000-8000-000000000052/content"

func TestContentIsSavedAndNeverShown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, name            string
		wantKind, disposition string
	}{
		"a page":                {"text/html", "page.html", "text/html", `attachment; filename=page.html`},
		"a drawing":             {"image/svg+xml; charset=utf-8", "a b.svg", "image/svg+xml; charset=utf-8", `attachment; filename="a b.svg"`},
		"no name":               {"audio/ogg", "", "audio/ogg", `attachment; filename=01000000-0000-7000-8000-000000000052`},
		"only dots":             {"audio/ogg", "..", "audio/ogg", `attachment; filename=01000000-0000-7000-8000-000000000052`},
		"a path":                {"audio/ogg", `../../etc\passwd`, "audio/ogg", `attachment; filename=passwd`},
		"another script":        {"audio/ogg", "Müßig.ogg", "audio/ogg", `attachment; filename*=utf-8''M%C3%BC%C3%9Fig.ogg`},
		"a quote":               {"audio/ogg", `a".ogg`, "audio/ogg", `attachment; filename="a\".ogg"`},
		"a header in the name":  {"audio/ogg", "a\r\nSet-Cookie: x", "audio/ogg", `attachment; filename="aSet-Cookie: x"`},
		"a header in the type":  {"text/html\r\nSet-Cookie: x", "a", "application/octet-stream", `attachment; filename=a`},
		"no type":               {"", "a", "application/octet-stream", `attachment; filename=a`},
		"a type that is no one": {"nonsense", "a", "application/octet-stream", `attachment; filename=a`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.runs.artifacts[0].Type, b.runs.artifacts[0].Filename = test.kind, test.name
			for _, path := range []string{contentPath, runPath + "/artifacts/" + artifactID.String() + "/content"} {
				rec := b.do("GET", path, "")
				h := rec.Header()
				got := map[string]string{}
				for _, name := range []string{"Content-Type", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy", "Cross-Origin-Resource-Policy", "Content-Length", "Etag", "Cache-Control", "Set-Cookie"} {
					got[name] = h.Get(name)
				}
				want := map[string]string{
					"Content-Type": test.wantKind, "Content-Disposition": test.disposition, "X-Content-Type-Options": "nosniff",
					"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin",
					"Content-Length": "25", "Etag": `"` + inputHash + `"`, "Cache-Control": "private, no-cache", "Set-Cookie": "",
				}
				if diff := cmp.Diff(want, got); rec.Code != 200 || rec.Body.String() != page || diff != "" {
					t.Errorf("%s: %d %q (-want +got):\n%s", path, rec.Code, rec.Body, diff)
				}
			}
		})
	}
}

func TestPartsOfContent(t *testing.T) {
	t.Parallel()
	tag := `"` + inputHash + `"`
	tests := map[string]struct {
		headers []string
		status  int
		body    string
		part    string
	}{
		"the first byte":         {[]string{"Range", "bytes=0-0"}, 206, page[:1], "bytes 0-0/25"},
		"the middle":             {[]string{"Range", "bytes=3-7"}, 206, page[3:8], "bytes 3-7/25"},
		"from a place":           {[]string{"Range", "bytes=20-"}, 206, page[20:], "bytes 20-24/25"},
		"beyond the end":         {[]string{"Range", "bytes=20-99"}, 206, page[20:], "bytes 20-24/25"},
		"the last five":          {[]string{"Range", "bytes=-5"}, 206, page[20:], "bytes 20-24/25"},
		"the last hundred":       {[]string{"Range", "bytes=-100"}, 206, page, "bytes 0-24/25"},
		"of this content":        {[]string{"Range", "bytes=0-0", "If-Range", tag}, 206, page[:1], "bytes 0-0/25"},
		"of another content":     {[]string{"Range", "bytes=0-0", "If-Range", `"x"`}, 200, page, ""},
		"several":                {[]string{"Range", "bytes=0-0,2-3"}, 200, page, ""},
		"another unit":           {[]string{"Range", "lines=0-0"}, 200, page, ""},
		"nonsense":               {[]string{"Range", "bytes=a-b"}, 200, page, ""},
		"a minus alone":          {[]string{"Range", "bytes=-"}, 200, page, ""},
		"a negative":             {[]string{"Range", "bytes=--5"}, 200, page, ""},
		"behind the end":         {[]string{"Range", "bytes=25-"}, 416, "", "bytes */25"},
		"the last none":          {[]string{"Range", "bytes=-0"}, 416, "", "bytes */25"},
		"backwards":              {[]string{"Range", "bytes=7-3"}, 416, "", "bytes */25"},
		"known":                  {[]string{"If-None-Match", tag}, 304, "", ""},
		"known, weakly":          {[]string{"If-None-Match", `"x", W/` + tag}, 304, "", ""},
		"known, whatever it is":  {[]string{"If-None-Match", "*"}, 304, "", ""},
		"known as something old": {[]string{"If-None-Match", `"x"`}, 200, page, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("GET", contentPath, "", test.headers...)
			if test.status == 416 {
				problemIn(t, rec)
			} else if rec.Body.String() != test.body {
				t.Errorf("body %q", rec.Body)
			}
			if rec.Code != test.status || rec.Header().Get("Content-Range") != test.part {
				t.Errorf("got %d, Content-Range %q", rec.Code, rec.Header().Get("Content-Range"))
			}
		})
	}
	b := newBench(t)
	if rec := b.do("HEAD", contentPath, ""); rec.Code != 200 || rec.Body.Len() != 0 || rec.Header().Get("Content-Length") != "25" {
		t.Errorf("HEAD: %d %q %v", rec.Code, rec.Body, rec.Header())
	}
}

// fetch downloads the content from a real server.
func fetch(t *testing.T, b *bench) ([]byte, error) {
	t.Helper()
	server := httptest.NewUnstartedServer(b)
	server.Config.ErrorLog = quiet()
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+contentPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := server.Client().Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return io.ReadAll(res.Body)
}

func TestWrongContentIsNeverTakenForWhole(t *testing.T) {
	t.Parallel()
	whole := bytes.Repeat([]byte("0123456789abcdef"), 20<<10) // several pieces
	corrupt := iotest.ErrReader(&rondo.Error{Code: rondo.CodeStateCorrupt, Message: "other bytes"})
	for name, test := range map[string]struct {
		content io.Reader
		good    bool
	}{
		"whole":                {bytes.NewReader(whole), true},
		"whole, in bits":       {iotest.HalfReader(bytes.NewReader(whole)), true},
		"whole, with its end":  {iotest.DataErrReader(bytes.NewReader(whole)), true},
		"wrong, told at end":   {io.MultiReader(bytes.NewReader(whole), corrupt), false},
		"too short":            {bytes.NewReader(whole[:len(whole)-1]), false},
		"broken in the middle": {io.MultiReader(bytes.NewReader(whole[:100<<10]), iotest.ErrReader(errors.New("disk"))), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.runs.artifacts[0].Size = int64(len(whole))
			b.runs.content = func() io.Reader { return test.content }
			got, err := fetch(t, b)
			if (err == nil) != test.good || test.good && !bytes.Equal(got, whole) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	t.Run("what the log tells", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.runs.artifacts[0].Size = int64(len(whole))
		b.runs.content = func() io.Reader {
			return io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(&rondo.Error{Code: rondo.CodeStateCorrupt, Message: "other bytes"}))
		}
		if _, err := fetch(t, b); err == nil {
			t.Fatal("damaged bytes are taken for whole")
		}
		if told := b.log.String(); !strings.Contains(told, "damaged artifact "+inputHash) || !strings.Contains(told, "other bytes") || strings.Contains(told, "panic") {
			t.Errorf("the log says %s, want the damaged artifact and no panic", told)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.runs.artifacts[0].Size = 0
		b.runs.content = func() io.Reader { return strings.NewReader("") }
		if got, err := fetch(t, b); err != nil || len(got) != 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestContentThatIsElsewhereSaysWhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runs.openError = &rondo.Error{Code: rondo.CodeNotFound, Message: "the bytes are not stored here", Hint: "get them from its uri"}
	rec := b.do("GET", contentPath, "")
	if p := problemIn(t, rec); rec.Code != 409 || p.Hint != "get them from its uri" || rec.Header().Get("Etag") != "" {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

func TestContentMayTakeItsTime(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		contentPath: true, runPath + "/artifacts/" + artifactID.String() + "/content": true, runPath + "/stream": true,
		runPath: false, "/workflows/content": false, "/cache": false,
	} {
		if got := httpapi.IsStream(httptest.NewRequest(http.MethodGet, path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
