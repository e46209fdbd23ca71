// Package template renders Go templates as skills. Equal inputs give equal outputs.
//
// It imports the standard library, the root package and the skill port.
package template

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
	"github.com/rondo-engine/rondo/skill/internal/spec"
	"github.com/rondo-engine/rondo/skill/internal/text"
)

// Config is a skill of type template as a file declares it.
type Config struct {
	Template string `json:"template"`
	// Output is how the text becomes data: text (default), a JSON string; json, the
	// text is JSON.
	Output string `json:"output"`
	// Artifact keeps the text as a file too. Without output it is a file alone, whose
	// name, type and size are the data.
	Artifact *Artifact `json:"artifact"`
}

// Artifact names a file.
type Artifact struct {
	Name string `json:"name"` // a template too
	Type string `json:"type"` // MIME; default text/plain; charset=utf-8
}

// Options are the operator's.
type Options struct{ Limits skill.Limits }

// Skill renders one template. It is safe for concurrent use.
type Skill struct {
	cfg    Config
	body   *text.Template
	name   *text.Template // nil = no artifact
	limits skill.Limits
}

var _ skill.Skill = (*Skill)(nil)

// New reads a configuration strictly. Its errors are CodeInvalidDef.
func New(raw json.RawMessage, opts Options) (*Skill, error) {
	s := &Skill{limits: opts.Limits.Or()}
	var problems spec.Problems
	if !spec.Decode(raw, &s.cfg, &problems) {
		return nil, problems.Err("template")
	}
	var err error
	if s.cfg.Template == "" {
		problems.Add("/template", "required", "write the template")
	} else if s.body, err = text.Parse("template", s.cfg.Template); err != nil {
		problems.Add("/template", "format", err.Error())
	}
	if s.cfg.Output != "" && s.cfg.Output != "text" && s.cfg.Output != "json" {
		problems.Add("/output", "enum", "output is text or json")
	}
	if s.cfg.Artifact != nil {
		if s.cfg.Artifact.Name == "" {
			problems.Add("/artifact/name", "required", "name the file")
		} else if s.name, err = text.Parse("name", s.cfg.Artifact.Name); err != nil {
			problems.Add("/artifact/name", "format", err.Error())
		}
	}
	if err := problems.Err("template"); err != nil {
		return nil, err
	}
	return s, nil
}

// Do renders.
func (s *Skill) Do(ctx context.Context, call skill.Call) (skill.Result, error) {
	limit := s.limits.Output
	if s.name != nil {
		limit = min(s.limits.Artifact, 16*s.limits.Output) // it is made in memory
	}
	out, err := s.body.Render(ctx, call.Input, limit)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if err != nil {
		return unrendered(err), nil
	}
	result := s.data(out)
	if !result.OK || s.name == nil {
		return result, nil
	}
	return s.file(ctx, call, result, out)
}

func unrendered(err error) skill.Result {
	return skill.Fail(rondo.CodeSkillError, "the template cannot be rendered: "+err.Error(), false)
}

// data is the text as data, if it is to be any.
func (s *Skill) data(out []byte) skill.Result {
	switch {
	case s.name != nil && s.cfg.Output == "":
		return skill.Result{OK: true}
	case int64(len(out)) > s.limits.Output:
		return answer.TooLarge("the rendered text", s.limits.Output)
	case s.cfg.Output == "json":
		return answer.Data("the rendered text", out, false) // even an object with a member ok is no result
	default:
		return answer.Text("the rendered text", out)
	}
}

func (s *Skill) file(ctx context.Context, call skill.Call, result skill.Result, out []byte) (skill.Result, error) {
	const longest = 255
	name, err := s.name.Render(ctx, call.Input, longest)
	if err != nil || len(name) == 0 {
		if ctx.Err() != nil {
			return skill.Result{}, ctx.Err()
		}
		return skill.Fail(rondo.CodeSkillError, "the artifact's name cannot be rendered, is empty or has more than 255 bytes", false), nil
	}
	kind := s.cfg.Artifact.Type
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	artifact, err := answer.Store(ctx, call.Blobs, bytes.NewReader(out), s.limits.Artifact, string(name), kind)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if err != nil {
		return answer.Failure(err), nil
	}
	result.Artifacts = append(result.Artifacts, artifact)
	if result.Data == nil {
		data, err := answer.Quote(map[string]any{"name": string(name), "type": kind, "size": len(out)})
		if err != nil {
			return skill.Fail(rondo.CodeSkillError, "the artifact's name is not a text", false), nil //nolint:nilerr // told as the attempt's failure
		}
		result.Data = data
	}
	return result, nil
}
