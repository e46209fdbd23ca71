package text_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill/internal/text"
)

const input = `{"title":"Summer <Sale> & more","n":3,"big":9007199254740991,"f":0.5,"list":["a","b"],"deep":{"x":1},"empty":"","none":null,"secret":"CANARY"}`

func render(t *testing.T, source string, limit int64) (string, error) {
	t.Helper()
	parsed, err := text.Parse("test", source)
	if err != nil {
		return "", err
	}
	out, err := parsed.Render(t.Context(), json.RawMessage(input), limit)
	return string(out), err
}

func TestTemplatesRender(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`{{.title}}`:                                                                  "Summer <Sale> & more",
		`{{.title|html}}`:                                                             "Summer &lt;Sale&gt; &amp; more",
		`{{.n}} {{.big}} {{.f}}`:                                                      "3 9007199254740991 0.5",
		`{{if gt .n 2}}many{{end}}`:                                                   "many",
		`{{range $i, $x := .list}}{{$i}}{{$x}}{{end}}`:                                "0a1b",
		`{{range .list}}{{.}}{{else}}none{{end}}`:                                     "ab",
		`{{range 3}}x{{end}}`:                                                         "xxx",
		`{{if .absent}}yes{{else}}no{{end}}`:                                          "no",
		`{{if .deep.absent.more}}yes{{else}}no{{end}}`:                                "no",
		`{{with .absent}}{{.}}{{else}}-{{end}}`:                                       "-",
		`{{with .deep}}{{.x}}{{if .y}}y{{end}}{{end}}`:                                "1",
		`{{$d := .deep}}{{if $d.y}}y{{else}}n{{end}}{{if $.deep.x}}x{{end}}`:          "nx",
		`{{or .absent "black"}}`:                                                      "black",
		`{{default "red" .absent}} {{default "red" .empty}} {{default 1 .n}}`:         "red red 3",
		`{{if not .absent}}not{{end}}{{if and .n .absent}}both{{end}}`:                "not",
		`{{if has "title" .}}has{{end}}{{if has "x" .}}x{{end}}`:                      "has",
		`{{json .deep}} {{json .list}} {{json .title}} {{json .none}}`:                `{"x":1} ["a","b"] "Summer <Sale> & more" null`,
		`{{join ", " .list}}`:                                                         "a, b",
		`{{upper "ä"}}{{lower "Ä"}}{{trim " x "}}{{replace "a" "bb" "aXa"}}`:          "ÄäxbbXbb",
		`{{printf "%05.1f|%s|%d" .f .title .n}}`:                                      "000.5|Summer <Sale> & more|3",
		`{{define "t"}}<{{.}}>{{end}}{{template "t" .n}}`:                             "<3>",
		`{{indent 2 "a\nb"}}`:                                                         "  a\n  b",
		`{{add .n 4}}{{sub .n 1}}{{len .list}}{{index .list 1}}`:                      "722b",
		`{{range split "," "a,b"}}[{{.}}]{{end}}{{range lines "x\ny\n"}}{{.}}{{end}}`: "[a][b]xy",
		`{{/* nothing */}}`:                                                           "",
	} {
		got, err := render(t, source, 1000)
		if err != nil || got != want {
			t.Errorf("%s gives %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestWhatCannotBeRenderedSaysWhereAndNoValue(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`{{.absent}}`:                              `test:1:2: the input has no "absent": its selector found nothing`,
		`{{.absent.x}}`:                            `the input has no "absent"`,
		`{{with .deep}}{{$.absent}}{{end}}`:        `the input has no "absent"`,
		`{{with .deep}}{{.absent}}{{end}}`:         `there is no "absent" where .absent looks for it`,
		`{{.deep.title}}`:                          `there is no "title" where .deep.title looks for it`,
		`{{.none.x}}`:                              `there is no "x" where .none.x looks for it`,
		"\n\n  {{.deep.absent}}":                   "test:3:",
		`{{.absent | default "red"}}`:              `the input has no "absent"`,
		`{{range .secret}}{{end}}`:                 "what is there",
		`{{range .n}}{{template "x"}}{{end}}`:      `"x" not defined`,
		`{{.secret.x}}`:                            "can't evaluate field x",
		`{{index .list 9}}`:                        "out of range",
		`{{add .secret 1}}`:                        "wrong type",
		`{{if gt .secret 5}}{{end}}`:               "what is there",
		`{{call .secret}}`:                         "nothing can be called",
		`{{printf "%*d" 100000 1}}`:                "no width from its arguments",
		`{{printf "%1001d" 1}}`:                    "up to 1000",
		`{{printf "%.99999999999999999999f" 1.5}}`: "up to 1000",
		`{{printf "%[2]d" 1}}`:                     "an argument that it does not have",
		`{{.title.Foo}}`:                           "can't evaluate field Foo",
		`{{`:                                       "test:1",
		`{{nope}}`:                                 `"nope" not defined`,
		`{{env "HOME"}}`:                           `"env" not defined`,
	} {
		got, err := render(t, source, 1000)
		if err == nil || rondo.CodeOf(err) != rondo.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %q, %v, want an error with %q", source, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: the error %q tells a value", source, err)
		}
	}
}

func TestNoTemplateRunsAway(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"output":                         `{{range 100000}}0123456789{{end}}`,
		"one wide number":                `{{printf "%900000d" 1}}`,
		"many wide numbers":              `{{printf "` + strings.Repeat("%1000[1]d", 6000) + `" 1}}`,
		"one argument many times":        `{{$s := printf "%1000d" 1}}{{printf "` + strings.Repeat("%[1]s", 9000) + `" $s}}`,
		"many variables":                 `{{$s := printf "%1000d" 1}}{{range 5}}{{$s = print $s $s}}{{end}}{{range 100000}}{{$x := print $s}}{{end}}`,
		"values of deep templates":       `{{define "t"}}{{$x := print . "x"}}{{template "t" $x}}{{end}}{{template "t" "x"}}`,
		"a list of many":                 `{{$s := printf "%1000d" 1}}{{range 6}}{{$s = print $s $s}}{{end}}{{range 100}}{{range $i, $x := split "" $s}}{{break}}{{end}}{{end}}`,
		"escaped into more":              `{{$s := "\"\"\"\"\"\"\"\"\"\""}}{{range 13}}{{$s = print $s $s}}{{end}}{{html $s}}`,
		"an idle loop":                   `{{range 1000000000000}}{{end}}`,
		"loops in loops":                 `{{range 10000}}{{range 10000}}{{end}}{{end}}`,
		"a doubling text":                `{{$s := "xx"}}{{range 100}}{{$s = printf "%s%s" $s $s}}{{end}}`,
		"a doubling print":               `{{$s := "xx"}}{{range 100}}{{$s = print $s $s}}{{end}}`,
		"doubling backslashes":           `{{$s := "\\"}}{{range 100}}{{$s = js $s}}{{end}}`,
		"growing replacements":           `{{$s := "aa"}}{{range 100}}{{$s = replace "a" "aaaa" $s}}{{end}}`,
		"templates that call themselves": `{{define "t"}}{{template "t"}}{{template "t"}}{{end}}{{template "t"}}`,
		"templates that fan out":         `{{define "a"}}{{range 1000}}{{template "b"}}{{end}}{{end}}{{define "b"}}{{range 1000}}{{template "c"}}{{end}}{{end}}{{define "c"}}{{range 1000}}{{end}}{{end}}{{template "a"}}`,
		"a huge template":                strings.Repeat("x", text.MaxSource+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := render(t, source, 100_000); rondo.CodeOf(err) != rondo.CodeInvalid {
				t.Errorf("%d bytes, %v, want an error", len(out), err)
			}
		})
	}
}

func TestARenderingStopsWithItsContext(t *testing.T) {
	t.Parallel()
	parsed, err := text.Parse("test", `{{range 900000}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parsed.Render(ctx, nil, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's own", err)
	}
}

func TestURLsKeepTheirShape(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`https://h/{{.title}}/x?q={{.n}}`:       "https://h/Summer%20%3CSale%3E%20%26%20more/x?q=3",
		`https://h/{{.evil}}`:                   "https://h/..%2F..%2Fadmin%3Fx%3D1%23",
		`https://{{.host | raw}}/x`:             "https://a.example:8443/x",
		`https://h/?q={{.evil | urlquery}}`:     "https://h/?q=..%2F..%2Fadmin%3Fx%3D1%23",
		`https://h{{range .list}}/{{.}}{{end}}`: "https://h/a/b",
		`https://h/{{$x := .n}}{{$x}}`:          "https://h/3",
	} {
		parsed, err := text.ParseURL("url", source)
		if err != nil {
			t.Fatal(err)
		}
		data := strings.TrimSuffix(input, "}") + `,"evil":"../../admin?x=1#","host":"a.example:8443"}`
		got, err := parsed.Render(t.Context(), json.RawMessage(data), 1000)
		if err != nil || string(got) != want {
			t.Errorf("%s gives %q, %v, want %q", source, got, err, want)
		}
	}
}

// A tenant's template must not take the memory that all tenants share: what would be
// too large is not made first and measured then.
func TestWhatIsTooLargeIsNeverMade(t *testing.T) {
	const limit, most = 1 << 20, 160 << 20
	for name, source := range map[string]string{
		"many wide numbers":  `{{printf "` + strings.Repeat("%999999[1]d", 400) + `" 1}}`,
		"one argument often": `{{$s := printf "%1000d" 1}}{{range 9}}{{$s = print $s $s}}{{end}}{{printf "` + strings.Repeat("%[1]s", 4000) + `" $s}}`,
		"one printed often":  `{{$s := printf "%1000d" 1}}{{range 9}}{{$s = print $s $s}}{{end}}{{print` + strings.Repeat(" $s", 4000) + `}}`,
		"one escaped often":  `{{$s := printf "%1000d" 1}}{{range 9}}{{$s = print $s $s}}{{end}}{{html` + strings.Repeat(" $s", 4000) + `}}`,
		"one kept often":     `{{$s := printf "%1000d" 1}}{{range 9}}{{$s = print $s $s}}{{end}}{{define "t"}}{{$x := print .}}{{template "t" $x}}{{end}}{{template "t" $s}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := render(t, source, limit)
		runtime.ReadMemStats(&after)
		if rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%s: %v, want an error", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > most {
			t.Errorf("%s: %d MB are made, want at most %d", name, made>>20, most>>20)
		}
	}
}
