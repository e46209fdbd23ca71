package exec_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/exec"
	"github.com/rondo-engine/rondo/skill/skilltest"
)

// with does a step whose artifacts are in blobs.
func with(t *testing.T, blobs skill.Blobs, config map[string]any, input string) skill.Result {
	t.Helper()
	result, err := newSkill(t, config).Do(t.Context(), skill.Call{StepID: "step", Attempt: 1, Input: json.RawMessage(input), Blobs: blobs})
	skilltest.Check(t, result, err)
	return result
}

func keep(t *testing.T, blobs skill.Blobs, content string) string {
	t.Helper()
	hash, _, err := blobs.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestAMemberOfTheInputIsStandardInput(t *testing.T) {
	t.Parallel()
	const input = `{"notes":"a\n\"b\" ✓","page":{"rows":[{"n":1},{"n": 2,"m": [ ]}]},"none":null,"no":false}`
	for stdin, want := range map[string]string{
		"notes":          "a\n\"b\" ✓",
		"page.rows[1]":   "{\"n\":2,\"m\":[]}\n",
		"page.rows[0].n": "1\n",
		"no":             "false\n",
		"$":              `{"notes":"a\n\"b\" ✓","page":{"rows":[{"n":1},{"n":2,"m":[]}]},"none":null,"no":false}` + "\n",
	} {
		var got string
		result := do(t, newSkill(t, map[string]any{"command": "cat", "output": "text", "stdin": stdin}), input)
		if json.Unmarshal(result.Data, &got) != nil || got != want {
			t.Errorf("stdin %s gives %q (%s), want %q", stdin, got, result.Error, want)
		}
	}
	result := do(t, newSkill(t, map[string]any{"command": "cat", "stdin": "page.title"}), input)
	if result.OK || !strings.Contains(result.Error, `"page.title"`) || result.ErrorCode != string(rondo.CodeSkillError) || *result.Retryable {
		t.Errorf("a member that is not there: %+v", result)
	}
}

func TestArtifactsAndTextsOfTheInputAreFilesOfTheCommand(t *testing.T) {
	t.Parallel()
	blobs := skilltest.NewBlobs()
	big := strings.Repeat("0123456789", 1<<20)
	// The page is no text, so the command shows it in one.
	config := shell(`tr '\377' '?' < page.html; wc -c < big; wc -c < empty; ls; cat in/deep/title.txt`, map[string]any{
		"output": "text",
		"files":  map[string]string{"page.html": "made.artifacts[1]", "in/deep/./title.txt": "title", "big": "big", "empty": "empty"},
	})
	input := `{"made":{"artifacts":[{"type":"a/b"},{"type":"text/html","name":"x","hash":"` + keep(t, blobs, "<p>\xff</p>\n") +
		`"}]},"title":"A \u0041\n","empty":"","big":{"hash":"` + keep(t, blobs, big) + `"}}`
	var got string
	result := with(t, blobs, config, input)
	if err := json.Unmarshal(result.Data, &got); err != nil {
		t.Fatalf("%v: %s", err, result.Error)
	}
	want := "<p>?</p> 10485760 0 big empty in page.html A A"
	if strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("the command sees %q, want %q", got, want)
	}
}

func TestFilesThatCannotBeMadeAreNamed(t *testing.T) {
	t.Parallel()
	blobs := skilltest.NewBlobs()
	broken := skilltest.NewBlobs()
	hash := keep(t, broken, "x")
	broken.Break(errors.New("away"))
	tests := map[string]struct {
		blobs     skill.Blobs
		input     string
		message   string
		retryable bool
	}{
		"absent":             {blobs: blobs, input: `{}`, message: "the input does not have it"},
		"a number":           {blobs: blobs, input: `{"page":5}`, message: "neither a text nor an artifact"},
		"bytes elsewhere":    {blobs: blobs, input: `{"page":{"type":"text/html","uri":"https://example.org/x"}}`, message: "neither a text nor an artifact"},
		"bytes that left":    {blobs: blobs, input: `{"page":{"hash":"` + hash + `"}}`, message: "not there"},
		"damaged bytes":      {blobs: damaged{blobs}, input: `{"page":{"hash":"` + hash + `"}}`, message: "damaged"},
		"a store that fails": {blobs: broken, input: `{"page":{"hash":"` + hash + `"}}`, message: "could not be read", retryable: true},
		"no store":           {input: `{"page":{"hash":"` + hash + `"}}`, message: "no store"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := with(t, test.blobs, map[string]any{"command": "true", "files": map[string]string{"page.html": "page"}}, test.input)
			if result.OK || result.ErrorCode != string(rondo.CodeSkillError) || *result.Retryable != test.retryable {
				t.Errorf("%+v", result)
			}
			for _, want := range []string{test.message, `"page.html"`, `"page"`} {
				if !strings.Contains(result.Error, want) {
					t.Errorf("%q does not say %s", result.Error, want)
				}
			}
		})
	}
}

// damaged is a store whose bytes are those of another hash.
type damaged struct{ skill.Blobs }

func (damaged) Open(context.Context, string) (io.ReadCloser, int64, error) {
	wrong := &rondo.Error{Code: rondo.CodeStateCorrupt, Message: "damaged"}
	return io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{wrong})), 8, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// endless is a store whose bytes do not end; the first read cancels the step.
type endless struct {
	skill.Blobs
	cancel context.CancelFunc
}

func (e endless) Open(context.Context, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(e), -1, nil
}

func (e endless) Read(p []byte) (int, error) {
	e.cancel()
	return len(p), nil
}

func TestLayingFilesEndsWithTheStep(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newSkill(t, map[string]any{"command": "true", "files": map[string]string{"page.html": "page"}})
	result, err := s.Do(ctx, skill.Call{Input: json.RawMessage(`{"page":{"hash":"x"}}`), Blobs: endless{skilltest.NewBlobs(), cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestFilesStayWithinTheFolder(t *testing.T) {
	t.Parallel()
	for raw, pointer := range map[string]string{
		`{"command":"a","stdin":"a..b"}`: "/stdin", `{"command":"a","stdin":5}`: "/stdin", `{"command":"a","files":{"x":""}}`: "/files",
		`{"command":"a","files":{"/x":"a"}}`: "/files", `{"command":"a","files":{"../x":"a"}}`: "/files", `{"command":"a","files":{"a/../../x":"a"}}`: "/files",
		`{"command":"a","files":{"":"a"}}`: "/files", `{"command":"a","files":{".":"a"}}`: "/files", `{"command":"a","files":{"x/":"a"}}`: "/files",
		`{"command":"a","files":{"a/b":"a","a/./b":"a"}}`: "/files", `{"command":"a","files":{"a":"a","a/b":"a"}}`: "/files",
		`{"command":"a","files":{"x":"a[b]"}}`: "/files", `{"command":"a","files":{"x":5}}`: "/files/x", `{"command":"a","files":["x"]}`: "/files",
		`{"command":"a","files":{"x\u0000":"a"}}`: "/files",
	} {
		_, err := exec.New(json.RawMessage(raw), exec.Options{Allow: true})
		told, ok := err.(*rondo.Error)
		if !ok || told.Code != rondo.CodeInvalidDef || len(told.Fields) == 0 || told.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a problem at %s", raw, err, pointer)
		}
	}
	if _, err := exec.New(json.RawMessage(`{"command":"a","stdin":"$","files":{"in/x":"a.b[0]","in/y":"a"}}`), exec.Options{Allow: true}); err != nil {
		t.Error(err)
	}
}
