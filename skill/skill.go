// Package skill is the port to whatever does the work of a run's step: a command,
// an HTTP endpoint, a model, a template, a Go function, or a worker at the other
// end of the bus. Package skilltest holds the conformance suite of the drivers.
//
// # Guarantees every driver gives
//
//  1. Do returns soon after ctx ends, and what it started is gone then: no process,
//     no request, no goroutine is left.
//  2. A result is either ok with data that is valid JSON (or none), or not ok with a
//     code and a message that says what is wrong. An error of Do itself is a
//     retryable SKILL_ERROR.
//  3. What a skill prints or answers is bounded (Limits) and never logged.
//  4. Artifact bytes are streamed to Call.Blobs, not held in memory.
package skill

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/rondo-engine/rondo"
)

// Skill does the work of steps. It is safe for concurrent use.
type Skill interface {
	Do(ctx context.Context, call Call) (Result, error)
}

// Func is a Go function as a skill: type "go".
type Func func(ctx context.Context, call Call) (Result, error)

// Do calls the function.
func (f Func) Do(ctx context.Context, call Call) (Result, error) { return f(ctx, call) }

// Call is one attempt of a step.
type Call struct {
	RunID   rondo.ID
	StepID  string
	Attempt int
	Skill   string // name@version
	Input   json.RawMessage
	// Deadline is when the attempt has failed; ctx ends then.
	Deadline time.Time
	// Blobs takes the bytes of artifacts, and has those that the input names.
	Blobs Blobs
}

// Blobs keeps the bytes of artifacts by their content, the hex SHA-256.
type Blobs interface {
	// Put streams the bytes until EOF.
	Put(ctx context.Context, r io.Reader) (hash string, size int64, err error)
	// Open reads the bytes of an artifact that one of the steps has whose output the
	// input reads; others, and bytes that are gone, are CodeNotFound. Reading ends with
	// CodeStateCorrupt when the bytes are not those of the hash.
	Open(ctx context.Context, hash string) (r io.ReadCloser, size int64, err error)
}

// Result is what a skill answers.
type Result struct {
	OK        bool            `json:"ok"`
	Data      json.RawMessage `json:"data,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode string          `json:"error_code,omitempty"` // "" = SKILL_ERROR
	Retryable *bool           `json:"retryable,omitempty"`  // nil = yes
	Artifacts []Artifact      `json:"artifacts,omitempty"`
	Debug     *Debug          `json:"debug,omitempty"`
}

// Artifact is a file that a skill made: it names a uri, or has bytes, or was put
// into Call.Blobs already (Hash and Size).
type Artifact struct {
	Type     string          `json:"type"` // MIME
	Name     string          `json:"name,omitempty"`
	URI      string          `json:"uri,omitempty"`
	Bytes    []byte          `json:"bytes,omitempty"` // base64 in JSON
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Hash     string          `json:"-"` // hex SHA-256 of what is in Blobs
	Size     int64           `json:"-"`
}

// Debug is what a skill tells about its own work.
type Debug struct {
	TimingsMs map[string]float64 `json:"timings_ms,omitempty"`
	Calls     int                `json:"calls,omitempty"`
	Tokens    int64              `json:"tokens,omitempty"`
	Cost      float64            `json:"cost,omitempty"`
}

// Fail is a result that is not ok.
func Fail(code rondo.Code, message string, retryable bool) Result {
	return Result{Error: message, ErrorCode: string(code), Retryable: &retryable}
}

// Spec is a skill as a workflow file or the server's config declares it.
type Spec struct {
	Type   string          `json:"type"` // exec, http, llm, template, remote; go is registered by a program
	Config json.RawMessage `json:"config,omitempty"`
}

// Limits bound what a skill may answer. Zero fields take the defaults.
type Limits struct {
	Output   int64 // bytes of data or stdout; default 1 MiB
	Artifact int64 // bytes of one artifact; default 1 GiB
}

// The defaults of Limits.
const (
	DefaultOutput   int64 = 1 << 20
	DefaultArtifact int64 = 1 << 30
)
