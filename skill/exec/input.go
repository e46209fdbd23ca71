package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
)

// document is what a command reads unless the configuration names a member.
type document struct {
	RunID   string          `json:"run_id"`
	StepID  string          `json:"step_id"`
	Attempt int             `json:"attempt"`
	Input   json.RawMessage `json:"input"`
}

// stdin is the command's whole standard input. Its error is for people.
func (s *Skill) stdin(call skill.Call) ([]byte, error) {
	if s.cfg.Stdin == "" {
		said, err := answer.Quote(document{call.RunID.String(), call.StepID, call.Attempt, call.Input})
		if err != nil {
			return nil, rondo.Invalid("the input is not JSON")
		}
		return append(said, '\n'), nil
	}
	member, err := plan.Member(call.Input, s.cfg.Stdin)
	if err != nil {
		return nil, rondo.Invalid("the input is not JSON")
	}
	if member == nil {
		return nil, rondo.Invalid(fmt.Sprintf("the input has no member %q, which is the command's standard input", s.cfg.Stdin))
	}
	if text, ok := textOf(member); ok {
		return []byte(text), nil
	}
	var line bytes.Buffer
	if json.Compact(&line, member) != nil {
		return nil, rondo.Invalid("the input is not JSON")
	}
	line.WriteByte('\n')
	return line.Bytes(), nil
}

// lay puts the files that the configuration names into the attempt's folder. A
// failure names the file and the member, never what is in them.
func (s *Skill) lay(ctx context.Context, call skill.Call, folder string) (failure skill.Result, failed bool) {
	if len(s.cfg.Files) == 0 {
		return skill.Result{}, false
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, "the command's folder cannot be used", true), true
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Files)) {
		member := s.cfg.Files[name]
		fail := func(what string, retryable bool) (skill.Result, bool) {
			return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the file %q, member %q of the input: %s", name, member, what), retryable), true
		}
		content, problem, retryable := open(ctx, call, member)
		if problem != "" {
			return fail(problem, retryable)
		}
		err := write(ctx, root, path.Clean(name), content)
		switch {
		case err == nil:
		case rondo.CodeOf(err) == rondo.CodeStateCorrupt:
			return fail("the stored bytes are damaged: run the step that made them again", false)
		default:
			return fail("it could not be written", true)
		}
	}
	return skill.Result{}, false
}

// open reads the bytes that a member of the input is or stands for; a problem says
// why there are none.
func open(ctx context.Context, call skill.Call, member string) (content io.ReadCloser, problem string, retryable bool) {
	value, err := plan.Member(call.Input, member)
	if err != nil {
		return nil, "the input is not JSON", false
	}
	if value == nil {
		return nil, "the input does not have it", false
	}
	if text, ok := textOf(value); ok {
		return io.NopCloser(bytes.NewReader([]byte(text))), "", false
	}
	var artifact struct {
		Hash string `json:"hash"`
	}
	if json.Unmarshal(value, &artifact) != nil || artifact.Hash == "" {
		return nil, "it is neither a text nor an artifact whose bytes are kept", false
	}
	if call.Blobs == nil {
		return nil, "there is no store that has an artifact's bytes: configure one", false
	}
	content, _, err = call.Blobs.Open(ctx, artifact.Hash)
	switch {
	case err == nil:
		return content, "", false
	case rondo.CodeOf(err) == rondo.CodeNotFound:
		return nil, "the bytes of the artifact are not there: select it from the step that made it, and run that step again if they are gone", false
	default:
		return nil, "the bytes of the artifact could not be read", true
	}
}

// write streams content into a new file and closes both.
func write(ctx context.Context, root *os.Root, name string, content io.ReadCloser) error {
	defer content.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// However much there is, it ends with the step.
	going := reading(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return content.Read(p)
	})
	if _, err := io.Copy(file, going); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// reading is a function as a reader.
type reading func(p []byte) (int, error)

// Read calls the function.
func (r reading) Read(p []byte) (int, error) { return r(p) }

// textOf is the text that JSON is.
func textOf(raw json.RawMessage) (text string, ok bool) {
	raw = bytes.TrimSpace(raw)
	return text, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
}
