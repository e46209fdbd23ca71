package httpapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/canon"
)

// The bodies of the run API, for the document.
type (
	startRunBody struct {
		WorkflowName    string             `json:"workflowName"`
		WorkflowVersion string             `json:"workflowVersion,omitempty" doc:"Semver. Default: the highest active version"`
		TriggerPayload  map[string]anyJSON `json:"triggerPayload,omitempty" doc:"What the workflow's input_schema asks for. Default {}"`
		Mode            string             `json:"mode,omitempty" enum:"use,refresh,bypass,only,verify" doc:"How steps use the cache. Default use"`
		StepModes       map[string]string  `json:"stepModes,omitempty" doc:"Modes of single steps, by step id"`
		FailurePolicy   string             `json:"failurePolicy,omitempty" enum:"continue,fail_fast" doc:"What becomes of independent branches when a step fails. Default continue"`
	}
	changeRequestBody struct {
		Type    string             `json:"type" doc:"A change type of the workflow"`
		Payload map[string]anyJSON `json:"payload,omitempty" doc:"Laid over the base run's payload, member by member"`
	}
	updateRunBody struct {
		ChangeRequest   *changeRequestBody `json:"changeRequest,omitempty" doc:"What changed. Needed unless changedSteps or definition latest says it"`
		ChangedSteps    []string           `json:"changedSteps,omitempty" doc:"Seeds beside those of the change type"`
		Force           bool               `json:"force,omitempty" doc:"Seeds run without a look into the cache"`
		Definition      string             `json:"definition,omitempty" enum:"pinned,latest" doc:"The base run's definition, or the highest active version. Default pinned"`
		WorkflowVersion string             `json:"workflowVersion,omitempty" doc:"With definition latest: this version. Default: the highest active one"`
		IfLatest        bool               `json:"ifLatest,omitempty" doc:"Refuse with 409 STALE_BASE_RUN when the base was updated already"`
		Strict          bool               `json:"strict,omitempty" doc:"A step whose input differs from the base's is a candidate too"`
		Mode            string             `json:"mode,omitempty" enum:"use,refresh,bypass,only,verify"`
		StepModes       map[string]string  `json:"stepModes,omitempty"`
		FailurePolicy   string             `json:"failurePolicy,omitempty" enum:"continue,fail_fast"`
	}
	// planRunBody is one of the two above; with baseRunId it is the second.
	planRunBody struct {
		BaseRunID       string             `json:"baseRunId,omitempty" format:"uuid" doc:"Plan an update of this run: the other members are those of POST /runs/{id}/update. Without it they are those of POST /runs"`
		WorkflowName    string             `json:"workflowName,omitempty"`
		WorkflowVersion string             `json:"workflowVersion,omitempty"`
		TriggerPayload  map[string]anyJSON `json:"triggerPayload,omitempty"`
		ChangeRequest   *changeRequestBody `json:"changeRequest,omitempty"`
		ChangedSteps    []string           `json:"changedSteps,omitempty"`
		Force           bool               `json:"force,omitempty"`
		Definition      planDefinition     `json:"definition,omitzero" doc:"Of an update: pinned or latest. Or a definition itself, as an object, that need not be published: it is judged as if it were, and planned"`
		IfLatest        bool               `json:"ifLatest,omitempty"`
		Strict          bool               `json:"strict,omitempty"`
		Mode            string             `json:"mode,omitempty" enum:"use,refresh,bypass,only,verify"`
		StepModes       map[string]string  `json:"stepModes,omitempty"`
		FailurePolicy   string             `json:"failurePolicy,omitempty" enum:"continue,fail_fast"`
	}
	taintBody struct {
		Reason     string `json:"reason" doc:"Why the result is bad"`
		Rebuild    bool   `json:"rebuild,omitempty" doc:"Start an update run for each completed run that used it"`
		OutputHash string `json:"outputHash,omitempty" doc:"The result that is meant: an entry that has another one by now is left as it is"`
	}
)

func readStartRun(body []byte) (runs.Request, error) {
	var out runs.Request
	return out, decodeStart(body, &out, required(workflowName(&out.WorkflowName)))
}

func decodeStart(body []byte, out *runs.Request, more ...member) error {
	members := append(optionMembers(&out.Options),
		member{name: "workflowVersion", identifier: true, text: &out.WorkflowVersion},
		object("triggerPayload", &out.TriggerPayload),
	)
	return decode(body, append(members, more...)...)
}

func readUpdateRun(body []byte) (runs.UpdateRequest, error) {
	var out runs.UpdateRequest
	return out, decodeUpdate(body, &out, word("definition", &out.Definition, runs.DefinitionPinned, runs.DefinitionLatest))
}

func readPlanUpdate(body []byte) (runs.UpdateRequest, error) {
	var out runs.UpdateRequest
	return out, decodeUpdate(body, &out, baseRunID(&out.BaseRunID), definitionOrWord(&out.Definition, &out.Document))
}

// readPlanStart reads the body of the plan of an initial run. A definition names its
// workflow itself.
func readPlanStart(body []byte) (runs.Request, error) {
	var out runs.Request
	definition := definitionOrWord(nil, &out.Document)
	if err := decodeOpen(body, definition); err != nil {
		return out, err
	}
	name := workflowName(&out.WorkflowName)
	if out.Document == nil {
		name = required(name)
	}
	return out, decodeStart(body, &out, name, definition)
}

// plansUpdate reports whether the body of a plan is that of an update.
func plansUpdate(body []byte) (bool, error) {
	var base rondo.ID
	err := decodeOpen(body, baseRunID(&base))
	return !base.IsZero(), err
}

func decodeUpdate(body []byte, out *runs.UpdateRequest, more ...member) error {
	var change json.RawMessage
	members := append(optionMembers(&out.Options),
		object("changeRequest", &change),
		texts("changedSteps", &out.Options.ChangedSteps),
		truth("force", &out.Options.Force),
		member{name: "workflowVersion", identifier: true, text: &out.WorkflowVersion},
		truth("ifLatest", &out.IfLatest),
		truth("strict", &out.Options.Strict),
	)
	if err := decode(body, append(members, more...)...); err != nil {
		return err
	}
	if change == nil {
		if len(out.Options.ChangedSteps) == 0 && out.Definition != runs.DefinitionLatest && out.Document == nil {
			return badBody(rondo.FieldError{Code: "required", Pointer: "/changeRequest", Message: "say what changed: changeRequest, or changedSteps, or definition latest"})
		}
		return nil
	}
	return below("/changeRequest", decode(change,
		member{name: "type", required: true, identifier: true, text: &out.Change.Type},
		object("payload", &out.Change.Payload)))
}

// below moves what is wrong with a part of a body to where the part is.
func below(place string, err error) error {
	if wrong, ok := err.(*rondo.Error); ok { //nolint:errorlint // it was made by decode, not wrapped
		for i := range wrong.Fields {
			wrong.Fields[i].Pointer = place + wrong.Fields[i].Pointer
		}
		return wrong
	}
	return err
}

// inPayload moves what the workflow's schema finds wrong with a payload to where
// the payload is in the body, and takes words of the caller out of what is said.
func inPayload(err error, place string) error {
	told := said(err)
	if rondo.CodeOf(err) != rondo.CodeInvalid || len(told.Fields) == 0 {
		return err
	}
	out := &rondo.Error{Code: rondo.CodeInvalid, Message: told.Message, Hint: told.Hint, Fields: slices.Clone(told.Fields)}
	for i := range out.Fields {
		switch out.Fields[i].Code {
		case "schema":
			out.Fields[i].Pointer = place + out.Fields[i].Pointer
		case "change_unknown":
			out.Message = "the workflow knows no change of this type"
		}
	}
	return out
}

func optionMembers(out *rondo.RunOptions) []member {
	return []member{
		word("mode", &out.Mode, cacheModes...),
		stepModes(&out.StepModes),
		word("failurePolicy", &out.FailurePolicy, rondo.FailureContinue, rondo.FailureFast),
	}
}

var cacheModes = []rondo.CacheMode{rondo.CacheUse, rondo.CacheRefresh, rondo.CacheBypass, rondo.CacheOnly, rondo.CacheVerify}

// word is a member that takes one of some words.
func word[T ~string](name string, into *T, words ...T) member {
	return member{name: name, raw: func(value []byte) *rondo.FieldError {
		text, ok := canon.Text(value)
		if !ok {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be a string"}
		}
		if !slices.Contains(words, T(text)) {
			return &rondo.FieldError{Code: "unknown_value", Pointer: "/" + name, Message: "use one of " + wordList(words)}
		}
		*into = T(text)
		return nil
	}}
}

func wordList[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// stepModes is the member that gives single steps a mode.
func stepModes(into *map[string]rondo.CacheMode) member {
	return member{name: "stepModes", raw: func(value []byte) *rondo.FieldError {
		var given map[string]rondo.CacheMode
		if json.Unmarshal(value, &given) != nil || value[0] != '{' {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/stepModes", Message: "stepModes must be an object of modes by step id"}
		}
		for step, mode := range given {
			if !identifier(step) || !slices.Contains(cacheModes, mode) {
				return &rondo.FieldError{Code: "unknown_value", Pointer: "/stepModes", Message: "give each step one of " + wordList(cacheModes)}
			}
		}
		*into = given
		return nil
	}}
}

func workflowName(into *string) member {
	return phrase("workflowName", false, into, func(s string) (string, string) {
		if s == "" || len(s) > maxWorkflowName {
			return "not_a_name", "use the name of a workflow"
		}
		return "", ""
	})
}

func baseRunID(into *rondo.ID) member {
	return member{name: "baseRunId", raw: func(value []byte) *rondo.FieldError {
		text, _ := canon.Text(value)
		id, err := rondo.ParseID(string(text))
		if err != nil || id.IsZero() {
			return &rondo.FieldError{Code: "not_a_uuid", Pointer: "/baseRunId", Message: "use the runId of a completed run"}
		}
		*into = id
		return nil
	}}
}

func readTaint(body []byte) (runs.TaintRequest, error) {
	var out runs.TaintRequest
	err := decode(body, member{name: "reason", required: true, text: &out.Why}, truth("rebuild", &out.Rebuild),
		member{name: "outputHash", identifier: true, text: &out.OutputHash})
	return out, err
}
