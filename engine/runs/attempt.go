package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
)

// attempt is one call of a skill. Its goroutine reads nothing of the run but what
// is here, and posts it back as an input of the loop.
type attempt struct {
	sh    *shard
	d     *driven
	step  int
	skill skill.Skill
	call  skill.Call
	keyed plan.Keyed

	giveUp time.Time // when the loop lets it be; of the loop alone
	cancel context.CancelFunc
	freed  atomic.Bool // its slot was given back
	end    outcome
}

// outcome is what became of an attempt: an error, or an output.
type outcome struct {
	err       *rondo.StepError
	data      json.RawMessage
	hash      string
	artifacts []rondo.Artifact
	manifest  json.RawMessage
	debug     json.RawMessage
	cost      float64
	ended     time.Time
}

// maxMessage bounds what is kept of a skill's error.
const maxMessage = 2 << 10

// work calls the skill and tells the loop.
func (a *attempt) work(ctx context.Context) {
	defer a.cancel()
	s := a.sh.s
	a.end = s.outcome(ctx, a)
	a.end.ended = s.now()
	a.giveSlot()
	a.sh.post(a)
}

// giveSlot gives the slot back, once.
func (a *attempt) giveSlot() {
	if a.freed.CompareAndSwap(false, true) {
		a.sh.s.slots.give(a.d.run.TenantID)
	}
}

func (s *Service) outcome(ctx context.Context, a *attempt) outcome {
	result, err := s.do(ctx, a)
	switch {
	case (err != nil || !result.OK) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return outcome{err: timedOut(a.call.Deadline)}
	case err != nil:
		return outcome{err: &rondo.StepError{Code: string(rondo.CodeSkillError), Message: clipped(err.Error()), Retryable: true}}
	case !result.OK:
		return outcome{err: refusal(result)}
	}
	return s.accept(ctx, a.d, a.step, a.keyed, result)
}

// do calls the skill; one that panics has failed.
func (s *Service) do(ctx context.Context, a *attempt) (result skill.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("a skill panicked", "run", a.call.RunID, "step", a.call.StepID, "skill", a.call.Skill, "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			result, err = skill.Result{}, errors.New("the skill panicked")
		}
	}()
	return a.skill.Do(ctx, a.call)
}

// timedOut is the error of an attempt that did not end in time.
func timedOut(deadline time.Time) *rondo.StepError {
	return &rondo.StepError{
		Code: string(rondo.CodeSkillTimeout), Retryable: true,
		Message: "the skill did not answer before " + deadline.UTC().Format(time.RFC3339),
	}
}

// errorCode is what the code of a skill's error may look like.
var errorCode = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// codeOfRun is a code of Rondo's own as runs and steps have it.
func codeOfRun(code rondo.Code) string { return strings.ToUpper(string(code)) }

// refusal is the error of a result that is not ok.
func refusal(result skill.Result) *rondo.StepError {
	e := &rondo.StepError{Code: result.ErrorCode, Message: clipped(result.Error), Retryable: result.Retryable == nil || *result.Retryable}
	if !errorCode.MatchString(e.Code) {
		e.Code = string(rondo.CodeSkillError)
	}
	if e.Message == "" {
		e.Message = "the skill failed and did not say why"
	}
	return e
}

// accept checks a result, stores its artifacts and digests it.
func (s *Service) accept(ctx context.Context, d *driven, step int, keyed plan.Keyed, result skill.Result) outcome {
	def := &d.w.Steps[step]
	// What a model answers may be better the next time; what a program answers is not.
	again := def.Class == "llm"
	if bad := s.checkData(d.w, step, result.Data); bad != "" {
		return outcome{err: &rondo.StepError{Code: string(rondo.CodeSkillError), Message: clipped(bad), Retryable: again}}
	}
	out := outcome{data: result.Data}
	for i := range result.Artifacts {
		artifact, err := s.keepArtifact(ctx, &result.Artifacts[i])
		if err != nil {
			return outcome{err: err}
		}
		artifact.TenantID, artifact.RunID, artifact.StepID, artifact.Skill = d.run.TenantID, d.run.ID, def.ID, def.Skill
		out.artifacts = append(out.artifacts, artifact)
	}
	if result.Debug != nil {
		if result.Debug.Cost < 0 { // nobody is paid for it
			told := *result.Debug
			told.Cost = 0
			result.Debug = &told
		}
		out.cost = result.Debug.Cost
		out.debug, _ = json.Marshal(result.Debug) // numbers and names only; NaN leaves it out
	}
	out.hash = plan.OutputHash(out.data, out.artifacts)
	out.manifest = encodeManifest(keyed.Manifest)
	return out
}

// checkData says what is wrong with a skill's data, "" = nothing.
func (s *Service) checkData(w *plan.Workflow, step int, data json.RawMessage) string {
	if len(data) > 0 {
		if int64(len(data)) > s.cfg.Limits.Output {
			return fmt.Sprintf("the output has %d bytes, more than the %d that are allowed; make it an artifact", len(data), s.cfg.Limits.Output)
		}
		if !json.Valid(data) {
			return "the output is not JSON"
		}
	}
	if err := w.ValidateOutput(step, data); err != nil {
		return "the output does not match output_schema: " + err.Error()
	}
	return ""
}

// keepArtifact makes a record of a skill's artifact, its bytes stored first.
func (s *Service) keepArtifact(ctx context.Context, from *skill.Artifact) (rondo.Artifact, *rondo.StepError) {
	failed := func(message string, again bool) (rondo.Artifact, *rondo.StepError) {
		return rondo.Artifact{}, &rondo.StepError{Code: string(rondo.CodeSkillError), Message: message, Retryable: again}
	}
	artifact := rondo.Artifact{
		ID: s.cfg.IDs.New(), Type: from.Type, URI: from.URI, ContentHash: from.Hash, Size: from.Size,
		Filename: from.Name, Metadata: from.Metadata, CreatedAt: s.now(),
	}
	if artifact.Type == "" {
		artifact.Type = "application/octet-stream"
	}
	if len(from.Metadata) > 0 && !json.Valid(from.Metadata) {
		return failed("the metadata of an artifact is not JSON", false)
	}
	switch {
	case from.Hash != "":
	case from.URI != "" && len(from.Bytes) == 0:
		artifact.Size = -1
		return artifact, nil
	case s.cfg.Blobs == nil:
		return failed("the step made an artifact, and there is no store for its bytes: configure one", false)
	default:
		var err error
		artifact.ContentHash, artifact.Size, err = s.cfg.Blobs.Put(ctx, bytes.NewReader(from.Bytes), s.cfg.Limits.Artifact)
		if rondo.CodeOf(err) == rondo.CodeTooLarge {
			return failed(fmt.Sprintf("an artifact has more than the %d bytes that are allowed", s.cfg.Limits.Artifact), false)
		}
		if err != nil {
			return failed("an artifact could not be stored", true)
		}
	}
	if artifact.URI == "" {
		artifact.URI = blob.URI(artifact.ContentHash)
	}
	return artifact, nil
}

// boundedBlobs is what skills put bytes into and read bytes from.
type boundedBlobs struct {
	s *Service
	// readable are the artifacts of the steps that the input reads: a hash that came
	// with the payload opens nothing, it may be another tenant's.
	readable [][]rondo.Artifact
}

// Put implements skill.Blobs.
func (b boundedBlobs) Put(ctx context.Context, r io.Reader) (string, int64, error) {
	if b.s.cfg.Blobs == nil {
		return "", 0, &rondo.Error{Code: rondo.CodeUnavailable, Message: "there is no store for artifacts", Hint: "configure one"}
	}
	return b.s.cfg.Blobs.Put(ctx, r, b.s.cfg.Limits.Artifact)
}

// Open implements skill.Blobs.
func (b boundedBlobs) Open(ctx context.Context, hash string) (io.ReadCloser, int64, error) {
	for _, artifacts := range b.readable {
		for i := range artifacts {
			if artifacts[i].ContentHash == hash && hash != "" && b.s.cfg.Blobs != nil {
				return b.s.cfg.Blobs.Open(ctx, hash)
			}
		}
	}
	return nil, 0, &rondo.Error{
		Code: rondo.CodeNotFound, Op: "open an artifact's bytes", Message: "no step that this one reads has made them",
		Hint: "let the input select the artifact from the step, or the base step, that made it",
	}
}

// clipped bounds a message at a whole character and cleans it of control characters,
// which terminals and logs would obey.
func clipped(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(message, "\ufffd"))
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
