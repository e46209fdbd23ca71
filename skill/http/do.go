package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
)

const (
	maxURL    = 8 << 10
	maxHeader = 8 << 10
)

// final is a failure that another attempt would repeat.
type final struct{ message string }

func (f *final) Error() string { return f.message }

// Do sends one request.
func (s *Skill) Do(ctx context.Context, call skill.Call) (skill.Result, error) {
	request, err := s.request(ctx, call)
	if err != nil {
		if ctx.Err() != nil {
			return skill.Result{}, ctx.Err()
		}
		if told, ok := errors.AsType[*final](err); ok {
			return skill.Fail(rondo.CodeSkillError, told.message, false), nil
		}
		return skill.Result{}, err
	}
	response, err := s.opts.Client.HTTP.Do(request)
	if err != nil {
		return failed(ctx, err)
	}
	defer response.Body.Close()
	return s.read(ctx, call, response)
}

func (s *Skill) request(ctx context.Context, call skill.Call) (*http.Request, error) {
	target, err := s.target(ctx, call)
	if err != nil {
		return nil, err
	}
	body, err := s.content(ctx, call)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, s.cfg.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &final{"the request cannot be made"}
	}
	request.Header.Set("Accept", "application/json, */*;q=0.5")
	request.Header.Set("User-Agent", "rondo")
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.headers {
		rendered, err := value.Render(ctx, call.Input, maxHeader)
		if err != nil {
			return nil, &final{"the header " + name + " cannot be rendered: " + err.Error()}
		}
		if slices.ContainsFunc(rendered, func(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f }) {
			return nil, &final{"the header " + name + " has a character that no header has, such as a line break"}
		}
		request.Header.Set(name, string(rendered))
	}
	if s.cfg.BearerEnv != "" {
		secret, ok := s.opts.Secret(s.cfg.BearerEnv, target.Hostname())
		if !ok {
			return nil, &final{"the secret " + s.cfg.BearerEnv + " is not set, or not meant for this host: let the operator allow it"}
		}
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	request.Header.Set("Idempotency-Key", call.RunID.String()+"/"+call.StepID)
	return request, nil
}

func (s *Skill) target(ctx context.Context, call skill.Call) (*url.URL, error) {
	rendered, err := s.url.Render(ctx, call.Input, maxURL)
	if err != nil {
		return nil, &final{"the url cannot be rendered: " + err.Error()}
	}
	target, err := url.Parse(strings.TrimSpace(string(rendered)))
	if err != nil {
		return nil, &final{"the rendered url is none"}
	}
	if slices.ContainsFunc(strings.Split(target.Path, "/"), func(part string) bool { return part == ".." || part == "." }) {
		return nil, &final{"the rendered url climbs with . or .. in its path"}
	}
	if err := s.opts.Client.Check(target); err != nil {
		return nil, &final{told(err)}
	}
	return target, nil
}

func (s *Skill) content(ctx context.Context, call skill.Call) ([]byte, error) {
	switch {
	case s.body != nil:
		body, err := s.body.Render(ctx, call.Input, s.opts.Limits.Output)
		if err != nil {
			return nil, &final{"the body cannot be rendered: " + err.Error()}
		}
		return body, nil
	case slices.Contains(bodiless, s.cfg.Method):
		return nil, nil
	case len(call.Input) == 0:
		return []byte("{}"), nil
	default:
		return call.Input, nil
	}
}

// failed is the result of a request that got no answer. What the network says may
// name addresses, and is kept from callers.
func failed(ctx context.Context, err error) (skill.Result, error) {
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if refused := guard.Refused(err); refused != nil {
		return skill.Fail(rondo.CodeSkillError, told(refused), false), nil
	}
	return skill.Fail(rondo.CodeSkillError, "the endpoint did not answer: check that it is reachable and its certificate is good", true), nil
}

// told is an error's message and its way out.
func told(err error) string {
	if e, ok := errors.AsType[*rondo.Error](err); ok && e.Hint != "" {
		return "the request is refused: " + e.Message + "; " + e.Hint
	}
	return "the request is refused"
}

func (s *Skill) read(ctx context.Context, call skill.Call, response *http.Response) (skill.Result, error) {
	status := response.StatusCode
	switch {
	case status >= 300 && status < 400:
		return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the endpoint answers %d, a redirect, and none is followed: name the final url", status), false), nil
	case status >= 400 || status < 200:
		again := status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status == http.StatusTooEarly
		return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the endpoint answers %d %s", status, http.StatusText(status)), again), nil
	case s.cfg.Artifact != nil:
		return s.file(ctx, call, response)
	}
	raw, over, err := answer.Read(response.Body, s.opts.Limits.Output)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	return s.data(raw, over, err), nil
}

// data makes an answer as far as it was read a result.
func (s *Skill) data(raw []byte, over bool, err error) skill.Result {
	switch {
	case over:
		return answer.TooLarge("the answer", s.opts.Limits.Output)
	case err != nil:
		return skill.Fail(rondo.CodeSkillError, "the answer broke off", true)
	case s.cfg.Output == "text":
		return answer.Text("the answer", raw)
	default:
		return answer.Parse("the answer", raw, true)
	}
}

func (s *Skill) file(ctx context.Context, call skill.Call, response *http.Response) (skill.Result, error) {
	kind := s.cfg.Artifact.Type
	if kind == "" {
		kind = response.Header.Get("Content-Type")
	}
	artifact, err := answer.Store(ctx, call.Blobs, response.Body, s.opts.Limits.Artifact, s.cfg.Artifact.Name, kind)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if err != nil {
		return answer.Failure(err), nil
	}
	data, err := answer.Quote(map[string]any{"name": artifact.Name, "type": artifact.Type, "size": artifact.Size})
	if err != nil {
		return skill.Result{}, err
	}
	return skill.Result{OK: true, Data: data, Artifacts: []skill.Artifact{artifact}}, nil
}
