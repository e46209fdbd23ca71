package event

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo/internal/canon"
)

func TestEveryTypeHasASchemaAndEverySchemaAType(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(schemas, "schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, file := range files {
		documented = append(documented, strings.TrimSuffix(strings.TrimPrefix(file, "schemas/"), ".json"))
	}
	slices.Sort(documented)
	if diff := cmp.Diff(Types(), documented); diff != "" {
		t.Errorf("types and schema files differ (-types +files):\n%s", diff)
	}
	if len(slices.Compact(Types())) != len(Types()) {
		t.Error("a type is listed twice")
	}
}

func TestKnownTypesAndTheirPublishers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		eventType    string
		known        bool
		orchestrator bool
	}{
		{"case.created", true, false},
		{"ai_review.completed", true, false},
		{"consent.check.failed", true, false},
		{"workflow.webhook_emit.completed", true, false},
		{"ai_review.requested", true, true},
		{"case.images_check.requested", true, true},
		{"workflow.webhook_emit.requested", true, true},
		{"case.workflow.completed", true, true},
		{"workflow.started", true, true},
		{"workflow.intervened", true, true},
		{"workflow.anything", false, true},
		{"run.requested", true, true},
		{"run.completed", true, true},
		{"run.cancelled", true, true},
		{"run.step.requested", true, true},
		{"run.step.completed", true, false},
		{"run.step.failed", true, false},
		{"run.anything", false, true},
		{"runs.completed", false, false},
		{"ext.onboarding.kyc.requested", false, true},
		{"ext.onboarding.kyc.completed", false, false},
		{"ext.requested", false, true},
		{"external.requested", false, false},
		{"case.updated", false, false},
		{"workflows.started", false, false},
		{"", false, false},
	} {
		if got := Known(tc.eventType); got != tc.known {
			t.Errorf("Known(%q) = %t", tc.eventType, got)
		}
		if got := PublishedByOrchestrator(tc.eventType); got != tc.orchestrator {
			t.Errorf("PublishedByOrchestrator(%q) = %t", tc.eventType, got)
		}
		if _, got := Schema(tc.eventType); got != tc.known {
			t.Errorf("Schema(%q) found = %t", tc.eventType, got)
		}
		if tc.eventType != "" && !validType([]byte(tc.eventType)) {
			t.Errorf("%q cannot be sent", tc.eventType)
		}
	}
}

func compile(t *testing.T, eventType string) *jsonschema.Schema {
	t.Helper()
	raw, ok := Schema(eventType)
	if !ok {
		t.Fatalf("%s has no schema", eventType)
	}
	if err := canon.Check(raw, canon.Limits{}); err != nil {
		t.Fatalf("schema of %s: %v", eventType, err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(eventType, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(eventType)
	if err != nil {
		t.Fatalf("schema of %s: %v", eventType, err)
	}
	return schema
}

func TestSchemasTellPayloadsApart(t *testing.T) {
	t.Parallel()
	const id = `"018f3c2e-7a10-7c3d-9b1e-0123456789ab"`
	cases := map[string]struct{ good, bad []string }{
		TypeCaseCreated: {
			[]string{`{}`, `{"patient_id":"p","orchestration_mode":"client_driven","images":[{"id":"i","type":"MACROSCOPIC"}],"metadata":{"a":1},"more":1}`},
			[]string{`{"orchestration_mode":"passive"}`, `{"images":[{"id":"i"}]}`, `{"patient_id":5}`, `{"metadata":[]}`},
		},
		TypeConsentCheckRequested: {[]string{`{"types":["ai_analysis"],"patient_id":"p"}`}, []string{`{"types":["a"]}`, `{"types":"a","patient_id":"p"}`}},
		TypeConsentCheckCompleted: {[]string{`{"granted":true,"missing_types":[]}`, `{"granted":false,"missing_types":["a"],"step_id":"s"}`}, []string{`{}`, `{"granted":"yes","missing_types":[]}`}},
		TypeConsentCheckFailed:    {[]string{`{}`, `{"reason_code":"down","retryable":true,"error":{"at":1}}`, `{"error":"text"}`}, []string{`{"retryable":"yes"}`, `{"reason_code":1}`}},
		TypeImagesCheckRequested:  {[]string{`{"min_count":3,"image_types":["DERMOSCOPIC"]}`, `{"min_count":1}`}, []string{`{}`, `{"min_count":0}`, `{"min_count":1.5}`}},
		TypeImagesCheckCompleted:  {[]string{`{"count":3,"passed":true,"image_ids":["a"]}`}, []string{`{"count":3}`, `{"count":-1,"passed":true,"image_ids":[]}`}},
		TypeImagesCheckFailed:     {[]string{`{}`}, []string{`{"retryable":1}`}},
		TypeAIReviewRequested:     {[]string{`{"images":[{"id":"i"}],"product_id":"p"}`}, []string{`{"images":[{}],"product_id":"p"}`, `{"images":[]}`}},
		TypeAIReviewCompleted:     {[]string{`{"confidence":0.7,"diagnoses":[],"raw_response_id":"r"}`}, []string{`{"diagnoses":[],"raw_response_id":"r"}`, `{"confidence":"high","diagnoses":[],"raw_response_id":"r"}`}},
		TypeAIReviewFailed:        {[]string{`{"reason_code":"model_down","retryable":true}`}, []string{`{"retryable":null}`}},
		TypeHumanReviewRequested:  {[]string{`{"tier":"sa_qa","context_snapshot":{}}`}, []string{`{"tier":"boss","context_snapshot":{}}`, `{"tier":"sa_qa"}`}},
		TypeHumanReviewCompleted:  {[]string{`{"decision":"confirm","reviewer_id":"u"}`, `{"decision":"override","diagnoses":[1],"reviewer_id":"u"}`}, []string{`{"decision":"decline","reviewer_id":"u"}`, `{"decision":"confirm"}`}},
		TypeHumanReviewFailed:     {[]string{`{}`}, []string{`{"reason_code":""}`}},
		TypeConversationRequested: {[]string{`{"definition":"intake","user":"u"}`, `{"definition":"intake","user":"u","title":"t","timeout_seconds":0.5}`}, []string{`{"definition":"intake"}`, `{"definition":"intake","user":""}`, `{"definition":"intake","user":"u","timeout_seconds":0}`}},
		TypeConversationCompleted: {[]string{`{"conversationId":"c","outcome":"abandoned","step":"confirm","collectedData":{}}`}, []string{`{"conversationId":"c","outcome":"lost","step":"confirm","collectedData":{}}`, `{"conversationId":"c","outcome":"completed","step":"confirm"}`}},
		TypeConversationFailed:    {[]string{`{"reason_code":"step_failed","error":"no such definition"}`}, []string{`{"retryable":"yes"}`}},
		TypeRunRequested:          {[]string{`{"workflow_name":"campaign.build.v1"}`, `{"workflow_name":"w","workflow_version":"1.2.0","input":{"a":1},"timeout_seconds":60}`}, []string{`{}`, `{"workflow_name":"w","input":[]}`, `{"workflow_name":"w","timeout_seconds":0}`}},
		TypeRunStarted:            {[]string{`{"run_id":` + id + `,"status":"running"}`}, []string{`{"run_id":` + id + `}`, `{"run_id":"r","status":"running"}`}},
		TypeRunCompleted:          {[]string{`{"run_id":` + id + `,"status":"completed"}`}, []string{`{"run_id":` + id + `,"status":"failed"}`, `{"status":"completed"}`}},
		TypeRunFailed:             {[]string{`{"run_id":` + id + `,"status":"failed","error":{"code":"SKILL_ERROR","message":"m","failed_step_id":"s"}}`, `{"run_id":` + id + `,"status":"failed"}`}, []string{`{"run_id":` + id + `,"status":"failed","error":"m"}`, `{"run_id":` + id + `,"status":"completed"}`}},
		TypeRunCancelled:          {[]string{`{"run_id":` + id + `,"status":"cancelled"}`}, []string{`{"run_id":` + id + `,"status":"failed"}`}},
		TypeRunStepRequested:      {[]string{`{"run_id":` + id + `,"step_id":"bgm","attempt":1,"skill":"audio.mix@2","input":{},"deadline":"2026-01-31T12:00:00Z"}`}, []string{`{"run_id":` + id + `,"step_id":"bgm","attempt":0,"skill":"audio.mix@2","input":{},"deadline":"2026-01-31T12:00:00Z"}`, `{"run_id":` + id + `,"step_id":"bgm","attempt":1,"skill":"a@1","input":{},"deadline":"soon"}`}},
		TypeRunStepCompleted:      {[]string{`{}`, `{"data":[1],"artifacts":[{"type":"text/plain","bytes":"aGk="}],"debug":{"timings_ms":{"total":1.5},"calls":1,"tokens":10,"cost":0.1}}`}, []string{`{"artifacts":[{}]}`, `{"debug":{"calls":-1}}`}},
		TypeRunStepFailed:         {[]string{`{}`, `{"error_code":"QUOTA","error":"full","retryable":false}`}, []string{`{"retryable":"no"}`, `{"error_code":""}`}},
		TypeSetStatusRequested:    {[]string{`{"status":"open"}`}, []string{`{}`, `{"status":""}`}},
		TypeSetStatusCompleted:    {[]string{`{"previous_status":null,"new_status":"open"}`, `{"previous_status":"a","new_status":"b"}`}, []string{`{"previous_status":"a"}`}},
		TypeSetStatusFailed:       {[]string{`{}`}, []string{`{"retryable":"no"}`}},
		TypeWebhookEmitRequested:  {[]string{`{"event_name":"n","payload":null}`, `{"event_name":"n","payload":{"a":1}}`}, []string{`{"event_name":"n"}`}},
		TypeWebhookEmitCompleted:  {[]string{`{"delivery_id":"d"}`}, []string{`{}`}},
		TypeCaseWorkflowCompleted: {[]string{`{"final_diagnoses":[],"context_snapshot":{},"definition_id":` + id + `}`}, []string{`{"final_diagnoses":null,"context_snapshot":{},"definition_id":` + id + `}`, `{"final_diagnoses":[],"context_snapshot":{},"definition_id":"d"}`}},
		TypeWorkflowStarted:       {[]string{`{"instance_id":` + id + `,"definition_id":` + id + `,"mode":"active"}`}, []string{`{"instance_id":` + id + `,"definition_id":` + id + `}`}},
		TypeWorkflowHalted:        {[]string{`{"instance_id":` + id + `,"halt_step_id":"s","reason_code":"step_timeout"}`}, []string{`{"instance_id":` + id + `,"halt_step_id":null,"reason_code":"step_timeout"}`}},
		TypeWorkflowCompleted:     {[]string{`{"instance_id":` + id + `,"completed_at":"2026-01-31T12:00:00Z"}`}, []string{`{"instance_id":` + id + `,"completed_at":"yesterday"}`}},
		TypeWorkflowCancelled:     {[]string{`{"instance_id":` + id + `,"cancelled_by":"u"}`}, []string{`{"instance_id":"x","cancelled_by":"u"}`}},
		TypeWorkflowSLAWarned:     {[]string{`{"instance_id":` + id + `,"since":"2026-01-31T12:00:00Z","limit_seconds":0.5}`, `{"instance_id":` + id + `,"step_id":"s","since":"2026-01-31T12:00:00Z","limit_seconds":60}`}, []string{`{"instance_id":` + id + `,"since":"now","limit_seconds":60}`, `{"instance_id":` + id + `,"step_id":"","since":"2026-01-31T12:00:00Z","limit_seconds":60}`}},
		TypeWorkflowSLABreached:   {[]string{`{"instance_id":` + id + `,"step_id":"s","since":"2026-01-31T12:00:00Z","limit_seconds":60}`}, []string{`{"instance_id":` + id + `,"since":"2026-01-31T12:00:00Z"}`, `{"instance_id":` + id + `,"since":"2026-01-31T12:00:00Z","limit_seconds":0}`}},
		TypeWorkflowIntervened:    {[]string{`{"instance_id":` + id + `,"action":"retry_step","performed_by":"u","reason":"r"}`}, []string{`{"instance_id":` + id + `,"action":"retry-step","performed_by":"u"}`}},
	}
	for _, eventType := range Types() {
		t.Run(eventType, func(t *testing.T) {
			t.Parallel()
			tc, ok := cases[eventType]
			if !ok {
				t.Fatal("no examples of this type")
			}
			schema := compile(t, eventType)
			for i, payload := range slices.Concat(tc.good, append(tc.bad, `[]`, `null`)) {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(payload))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(value); (err == nil) != (i < len(tc.good)) {
					t.Errorf("payload %s: %v", payload, err)
				}
			}
		})
	}
}
