package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputsAreReadAsTyped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole.yaml", "a: 1\nb: two\n")
	list := write("list.json", "[1, 2]")
	note := write("note.md", "# Hi\n")
	schema := readInputSchema([]byte(`{"properties": {"year": {"type": "string"}, "count": {"type": ["string", "integer"]}}}`))
	tests := []struct {
		name  string
		given []string
		want  string // part of the error when it begins with !
	}{
		{"nothing", nil, ""},
		{"text", []string{"title=Summer sale"}, `{"title":"Summer sale"}`},
		{"JSON", []string{"n=3", "on=true", `o={"a":[1]}`, `s="7"`}, `{"n":3,"o":{"a":[1]},"on":true,"s":"7"}`},
		{"an equals sign in the value", []string{"q=a=b"}, `{"q":"a=b"}`},
		{"text by the schema", []string{"year=2026", "count=3"}, `{"count":3,"year":"2026"}`},
		{"text by the schema that is typed as JSON", []string{`year="2026"`}, `{"year":"2026"}`},
		{"empty", []string{"q="}, `{"q":""}`},
		{"the text of a file", []string{"notes=@" + note}, `{"notes":"# Hi\n"}`},
		{"the document of a file", []string{"list=@" + list}, `{"list":[1,2]}`},
		{"a whole object, then a member over it", []string{"@" + whole, "a=2"}, `{"a":2,"b":"two"}`},
		{"a file that is no object", []string{"@" + list}, "!not an object"},
		{"no name", []string{"=3"}, "!name=value"},
		{"no value", []string{"title"}, "!name=value"},
		{"no file", []string{"x=@" + filepath.Join(dir, "gone")}, "!gone"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readInputs("--input", test.given, schema)
			if want, fails := strings.CutPrefix(test.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want one with %q", err, want)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}
