// Package answer turns what a command printed or an endpoint answered into a result.
// Its messages name places, never what stands there.
//
// It imports the standard library, the root package and the skill port.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// Bounds of what a skill says about itself.
const (
	maxMessage = 4 << 10
	maxCode    = 64
	maxDepth   = 1000
	// MaxArtifacts is how many files one attempt may make.
	MaxArtifacts = 1000
)

// Read reads at most limit bytes; over says that there is more.
func Read(r io.Reader, limit int64) (raw []byte, over bool, err error) {
	raw, err = io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(raw)) > limit {
		return nil, true, nil
	}
	return raw, false, err
}

// TooLarge is the result of a skill that says too much. Saying it again helps nobody.
func TooLarge(where string, limit int64) skill.Result {
	return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("%s has more than %d bytes: make it smaller, or give out an artifact", where, limit), false)
}

// Parse reads JSON: an object with a boolean ok is a whole result, anything else is
// data, nothing at all is a result without data. What is not JSON is a failure that
// says where it stops being JSON; retryable says whether another attempt may do
// better.
func Parse(where string, raw []byte, retryable bool) skill.Result {
	data := Data(where, raw, retryable)
	if !data.OK || !isResult(data.Data) {
		return data
	}
	var result skill.Result
	if err := json.Unmarshal(data.Data, &result); err != nil {
		place := "a member"
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			place = "its member " + wrong.Field
		}
		return skill.Fail(rondo.CodeSkillError, where+" has a boolean ok, but is no result: "+place+" has another type than a result's", retryable)
	}
	return tidy(where, result)
}

// Data reads JSON as data, whatever it looks like.
func Data(where string, raw []byte, retryable bool) skill.Result {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 {
		return skill.Result{OK: true}
	}
	if problem := check(raw); problem != "" {
		return skill.Fail(rondo.CodeSkillError, where+" is not JSON: "+problem+" (with output: text it need not be)", retryable)
	}
	return skill.Result{OK: true, Data: json.RawMessage(trimmed)}
}

// Text is a text as data.
func Text(where string, raw []byte) skill.Result {
	if !utf8.Valid(raw) {
		return skill.Fail(rondo.CodeSkillError, where+" is not a text in UTF-8", false)
	}
	data, err := Quote(string(raw))
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, where+" cannot be written as JSON", false)
	}
	return skill.Result{OK: true, Data: data}
}

// Quote writes a text as JSON, as it is: without the escapes that HTML needs.
func Quote(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// check says where a text stops being JSON, "" when it does not.
func check(raw []byte) string {
	if !utf8.Valid(raw) {
		valid := 0
		for rest := raw; len(rest) > 0; {
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n <= 1 {
				break
			}
			valid, rest = valid+n, rest[n:]
		}
		return "a byte that is not UTF-8 at " + place(raw, valid)
	}
	var whole json.RawMessage
	err := json.Unmarshal(raw, &whole)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		if int(wrong.Offset) >= len(raw) && !json.Valid(raw) && strings.Contains(wrong.Error(), "unexpected end") {
			return "it ends too early, at " + place(raw, len(raw))
		}
		return "it stops making sense at " + place(raw, max(int(wrong.Offset)-1, 0))
	}
	if err != nil {
		return "it cannot be read"
	}
	if depth(raw) > maxDepth {
		return fmt.Sprintf("it is nested more than %d levels deep", maxDepth)
	}
	return ""
}

// place is where the byte at an offset stands.
func place(raw []byte, offset int) string {
	before := raw[:min(offset, len(raw))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

func depth(raw []byte) int {
	deepest, now, text, escaped := 0, 0, false, false
	for _, b := range raw {
		switch {
		case escaped:
			escaped = false
		case text && b == '\\':
			escaped = true
		case b == '"':
			text = !text
		case text:
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}

// isResult reports whether JSON is an object with a boolean ok.
func isResult(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	var told struct {
		OK json.RawMessage `json:"ok"`
	}
	if json.Unmarshal(raw, &told) != nil {
		return false
	}
	return string(told.OK) == "true" || string(told.OK) == "false"
}

// tidy holds a skill's own result to the port.
func tidy(where string, result skill.Result) skill.Result {
	if len(result.ErrorCode) > maxCode {
		result.ErrorCode = string(rondo.CodeSkillError)
	}
	if len(result.Error) > maxMessage {
		result.Error = strings.ToValidUTF8(result.Error[:maxMessage], "") + "…"
	}
	if string(result.Data) == "null" {
		result.Data = nil
	}
	if !result.OK {
		if result.Error == "" {
			result.Error = where + " says that the skill failed, but not why"
		}
		if result.ErrorCode == "" {
			result.ErrorCode = string(rondo.CodeSkillError)
		}
		result.Data, result.Artifacts = nil, nil
		return result
	}
	result.Error, result.ErrorCode, result.Retryable = "", "", nil
	if len(result.Artifacts) > MaxArtifacts {
		return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("%s names more than %d artifacts", where, MaxArtifacts), false)
	}
	for i := range result.Artifacts {
		a := &result.Artifacts[i]
		if a.Type == "" {
			a.Type = "application/octet-stream"
		}
		if a.URI == "" && a.Bytes == nil {
			return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("%s names an artifact (number %d) that has neither uri nor bytes", where, i+1), false)
		}
	}
	return result
}
