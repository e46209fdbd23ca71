package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
)

// request is what the API takes.
type request struct {
	Model          string         `json:"model"`
	Messages       []message      `json:"messages"`
	Temperature    *float64       `json:"temperature,omitempty"`
	MaxTokens      int            `json:"max_tokens,omitempty"`
	Seed           *int64         `json:"seed,omitempty"`
	ResponseFormat map[string]any `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// completion is what the API answers.
type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
		Reason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
	} `json:"usage"`
}

// Do asks the model once.
func (s *Skill) Do(ctx context.Context, call skill.Call) (skill.Result, error) {
	asked, problem := s.ask(ctx, call)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if problem != "" {
		return skill.Fail(rondo.CodeSkillError, problem, false), nil
	}
	body, err := answer.Quote(asked)
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, "the request cannot be written as JSON", false), nil
	}
	outgoing, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(body))
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, "the request cannot be made", false), nil
	}
	outgoing.Header.Set("Content-Type", "application/json")
	outgoing.Header.Set("Accept", "application/json")
	outgoing.Header.Set("Idempotency-Key", fmt.Sprintf("%s/%s/%d", call.RunID, call.StepID, call.Attempt)) // the next attempt wants another answer
	if s.cfg.APIKeyEnv != "" {
		key, ok := s.opts.Secret(s.cfg.APIKeyEnv, s.url.Hostname())
		switch {
		case ok:
			outgoing.Header.Set("Authorization", "Bearer "+key)
		case !s.operators || s.url.Hostname() == "api.openai.com":
			return skill.Fail(rondo.CodeSkillError, "the key "+s.cfg.APIKeyEnv+" is not set, or not meant for this host: set it, or let the operator allow it", false), nil
		}
	}
	response, err := s.client.Do(outgoing)
	if err != nil {
		return failed(ctx, err)
	}
	defer response.Body.Close()
	return s.read(ctx, response)
}

// ask renders the messages, or says why it cannot.
func (s *Skill) ask(ctx context.Context, call skill.Call) (request, string) {
	asked := request{Model: s.cfg.Model, Temperature: s.cfg.Temperature, MaxTokens: s.cfg.MaxTokens, Seed: s.cfg.Seed}
	if s.system != nil {
		rendered, err := s.system.Render(ctx, call.Input, s.opts.Limits.Output)
		if err != nil {
			return request{}, "the system prompt cannot be rendered: " + err.Error()
		}
		asked.Messages = append(asked.Messages, message{"system", string(rendered)})
	}
	prompt := givenPrompt(call.Input)
	if s.prompt != nil {
		rendered, err := s.prompt.Render(ctx, call.Input, s.opts.Limits.Output)
		if err != nil {
			return request{}, "the prompt cannot be rendered: " + err.Error()
		}
		prompt = string(rendered)
	}
	asked.Messages = append(asked.Messages, message{"user", prompt})
	switch s.cfg.ResponseFormat {
	case "json":
		asked.ResponseFormat = map[string]any{"type": "json_object"}
	case "json_schema":
		asked.ResponseFormat = map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true, "schema": s.cfg.Schema},
		}
	}
	return asked, ""
}

// givenPrompt is the input's member prompt, or all of the input.
func givenPrompt(input json.RawMessage) string {
	var given struct {
		Prompt string `json:"prompt"`
	}
	if json.Unmarshal(input, &given) == nil && given.Prompt != "" {
		return given.Prompt
	}
	return string(input)
}

// failed is the result of a request that got no answer.
func failed(ctx context.Context, err error) (skill.Result, error) {
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	return unanswered(err), nil
}

func unanswered(err error) skill.Result {
	if guard.Refused(err) != nil {
		return skill.Fail(rondo.CodeSkillError, "the model's server is not at a public address: let the operator name it as trusted", false)
	}
	return skill.Fail(rondo.CodeSkillError, "the model's server did not answer: check base_url, and that it is reachable", true)
}

func (s *Skill) read(ctx context.Context, response *http.Response) (skill.Result, error) {
	// The text is inside JSON: escapes make it longer on the way.
	const envelope = 64 << 10
	raw, over, err := answer.Read(response.Body, 6*s.opts.Limits.Output+envelope)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	return s.result(response.StatusCode, raw, over, err), nil
}

// result makes an answer as far as it was read a result.
func (s *Skill) result(status int, raw []byte, over bool, err error) skill.Result {
	switch {
	case status != http.StatusOK:
		return refused(status, raw)
	case over:
		return answer.TooLarge("the model's answer", s.opts.Limits.Output)
	case err != nil:
		return skill.Fail(rondo.CodeSkillError, "the model's answer broke off", true)
	}
	var whole completion
	if json.Unmarshal(raw, &whole) != nil || len(whole.Choices) == 0 {
		return skill.Fail(rondo.CodeSkillError, "the model's server answers with something that is no completion: check base_url", true)
	}
	result := s.judge(&whole)
	result.Debug = s.debug(&whole)
	return result
}

// judge makes the first choice a result.
func (s *Skill) judge(whole *completion) skill.Result {
	choice := whole.Choices[0]
	content := choice.Message.Content
	switch {
	case choice.Reason == "length":
		return skill.Fail(rondo.CodeSkillError, "the model ran out of room before its answer was whole: raise max_tokens, or ask for less", false)
	case choice.Reason == "content_filter":
		return skill.Fail(rondo.CodeSkillError, "the model's answer was withheld by a content filter", false)
	case choice.Message.Refusal != "":
		return skill.Fail(rondo.CodeSkillError, "the model refuses to answer", false)
	case content == "":
		return skill.Fail(rondo.CodeSkillError, "the model's answer is empty", true)
	case int64(len(content)) > s.opts.Limits.Output:
		return answer.TooLarge("the model's answer", s.opts.Limits.Output)
	case s.cfg.ResponseFormat == "" || s.cfg.ResponseFormat == "text":
		return answer.Text("the model's answer", []byte(content))
	}
	result := answer.Data("the model's answer (response_format is "+s.cfg.ResponseFormat+")", []byte(unfenced(content)), true)
	if result.OK && s.schema != nil {
		if problem := s.schema.Check(result.Data); problem != "" {
			return skill.Fail(rondo.CodeSkillError, "the model's answer does not keep to the schema: "+problem, true)
		}
	}
	return result
}

// unfenced takes JSON out of the Markdown that some models put it in.
func unfenced(content string) string {
	trimmed := strings.TrimSpace(content)
	inside, found := strings.CutPrefix(trimmed, "```")
	if !found {
		return trimmed
	}
	inside = strings.TrimPrefix(inside, "json")
	if before, closed := strings.CutSuffix(inside, "```"); closed {
		return before
	}
	return trimmed
}

// debug adds up what the answer cost.
func (s *Skill) debug(whole *completion) *skill.Debug {
	u := whole.Usage
	total := u.Total
	if total == 0 {
		total = u.Prompt + u.Completion
	}
	const million = 1e6
	return &skill.Debug{Calls: 1, Tokens: total, Cost: (float64(u.Prompt)*s.cfg.Price.Input + float64(u.Completion)*s.cfg.Price.Output) / million}
}

// refused is the result of an answer that is no 200. Of its body only a word is told.
func refused(status int, body []byte) skill.Result {
	again := status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	message := fmt.Sprintf("the model's server answers %d %s", status, http.StatusText(status))
	var told struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &told) == nil {
		word, _ := told.Error.Code.(string)
		if word == "" {
			word = told.Error.Type
		}
		if isWord(word) {
			message += " (" + word + ")"
		}
		if word == "insufficient_quota" {
			again = false // waiting does not pay bills
		}
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		message += ": check api_key_env"
	}
	return skill.Fail(rondo.CodeSkillError, message, again)
}

// isWord reports whether a text is a code, and not something that was said.
func isWord(text string) bool {
	return text != "" && len(text) <= 64 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
