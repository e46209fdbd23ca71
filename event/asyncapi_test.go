package event

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo/internal/canon"
)

// asyncAPI is the part of the document that the tests look at.
type asyncAPI struct {
	AsyncAPI string
	Channels map[string]struct {
		Address  string
		Messages map[string]reference
	}
	Operations map[string]struct {
		Action   string
		Channel  reference
		Messages []reference
	}
	Components struct {
		Messages map[string]struct {
			Payload json.RawMessage
		}
	}
}

type reference struct {
	Ref string `json:"$ref"`
}

func readAsyncAPI(t *testing.T, role Role) ([]byte, asyncAPI) {
	t.Helper()
	raw, err := AsyncAPI("test", role)
	if err != nil {
		t.Fatal(err)
	}
	if err := canon.Check(raw, canon.Limits{Bytes: len(raw)}); err != nil {
		t.Fatalf("the document is not strict JSON: %v", err)
	}
	var document asyncAPI
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return raw, document
}

func TestTheAsyncAPIDocumentIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	raw, _ := readAsyncAPI(t, RoleOrchestrator)
	file := filepath.Join("testdata", "asyncapi.json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, raw) {
		t.Errorf("the contract with modules changed; if that is meant, run go test ./event -run Golden -update (-want +got):\n%s", cmp.Diff(string(want), string(raw)))
	}
}

func TestTheOrchestratorsDocumentHasEveryTypeOnce(t *testing.T) {
	t.Parallel()
	_, document := readAsyncAPI(t, RoleOrchestrator)
	if document.AsyncAPI != "3.0.0" || len(document.Channels) != len(Types()) || len(document.Operations) != len(Types()) {
		t.Errorf("AsyncAPI %q with %d channels and %d operations, want 3.0.0 with %d each", document.AsyncAPI, len(document.Channels), len(document.Operations), len(Types()))
	}
	for _, name := range Types() {
		action := "receive"
		if PublishedByOrchestrator(name) {
			action = "send"
		}
		channel, operation := document.Channels[name], document.Operations[action+"."+name]
		if channel.Address != "events:"+name || channel.Messages[name].Ref != "#/components/messages/"+name {
			t.Errorf("channel of %s: %+v", name, channel)
		}
		if operation.Action != action || operation.Channel.Ref != "#/channels/"+name || len(operation.Messages) != 1 || operation.Messages[0].Ref != "#/channels/"+name+"/messages/"+name {
			t.Errorf("operation of %s: %+v", name, operation)
		}
	}
}

func TestModulesAreTheMirrorImage(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, role := range Roles()[1:] {
		_, document := readAsyncAPI(t, role)
		if len(document.Operations) == 0 {
			t.Errorf("%s does nothing", role)
		}
		for id, operation := range document.Operations {
			name := strings.TrimPrefix(operation.Channel.Ref, "#/channels/")
			covered[name] = true
			if receives := operation.Action == "receive"; receives != PublishedByOrchestrator(name) || id != operation.Action+"."+name {
				t.Errorf("%s: operation %s is %s", role, id, operation.Action)
			}
		}
	}
	for _, name := range Types() {
		if !covered[name] {
			t.Errorf("no module sends or receives %s", name)
		}
	}
	_, document := readAsyncAPI(t, RoleAIReview)
	var ids []string
	for id := range document.Operations {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"receive.ai_review.requested", "send.ai_review.completed", "send.ai_review.failed"}, ids); diff != "" {
		t.Errorf("what ai-review does (-want +got):\n%s", diff)
	}
}

func TestEveryReferenceOfADocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, role := range Roles() {
		raw, _ := readAsyncAPI(t, role)
		var document any
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		found := 0
		var walk func(value any)
		walk = func(value any) {
			switch value := value.(type) {
			case []any:
				for _, element := range value {
					walk(element)
				}
			case map[string]any:
				if to, ok := value["$ref"].(string); ok {
					found++
					if !leads(document, to) {
						t.Errorf("%s: %s leads nowhere", role, to)
					}
				}
				for _, part := range value {
					walk(part)
				}
			}
		}
		walk(document)
		if found == 0 {
			t.Errorf("%s: there is no reference: the test looks at the wrong place", role)
		}
	}
}

// leads reports whether a reference within a document finds something.
func leads(document any, to string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
		object, ok := document.(map[string]any)
		if !ok {
			return false
		}
		if document, ok = object[name]; !ok {
			return false
		}
	}
	return true
}

// compileMessage compiles the schema of a whole event.
func compileMessage(t *testing.T, eventType string, payload []byte) *jsonschema.Schema {
	t.Helper()
	raw, err := MessageSchema(eventType, payload)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("urn:rondo:message:"+eventType+":v1", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("urn:rondo:message:" + eventType + ":v1")
	if err != nil {
		t.Fatalf("message schema of %s: %v", eventType, err)
	}
	return schema
}

func TestMessageSchemasTakeWholeEvents(t *testing.T) {
	t.Parallel()
	const good = `{"event_id":"018f3c2e-7a10-7c3d-9b1e-0123456789ab","event_type":"ai_review.completed","schema_version":"v1","occurred_at":"2026-01-31T12:00:00Z",
		"correlation_id":"c","case_id":"k","org_id":"o","product_id":"p","payload":{"confidence":0.7,"diagnoses":[],"raw_response_id":"r"},"extra":1}`
	payload, _ := Schema(TypeAIReviewCompleted)
	schema := compileMessage(t, TypeAIReviewCompleted, payload)
	for name, tc := range map[string]struct {
		event string
		ok    bool
	}{
		"good":             {good, true},
		"of another type":  {strings.ReplaceAll(good, `"ai_review.completed"`, `"ai_review.failed"`), false},
		"without a case":   {strings.Replace(good, `"case_id":"k",`, "", 1), false},
		"of a bad payload": {strings.Replace(good, "0.7", `"high"`, 1), false},
		"of a bad time":    {strings.Replace(good, "2026-01-31T12:00:00Z", "now", 1), false},
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(tc.event))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != tc.ok {
			t.Errorf("an event that is %s: %v", name, err)
		}
	}
	for _, name := range Types() {
		payload, _ := Schema(name)
		compileMessage(t, name, payload)
	}
	compileMessage(t, "ext.anything.completed", nil)
	compileMessage(t, "ext.referring.completed", []byte(`{"$id":"urn:x","type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`))
	compileMessage(t, "ext.failing.failed", FailureSchema())
	compileMessage(t, "ext.boolean.completed", []byte(`true`))
}

func TestEverySchemaSaysWhatItIsOf(t *testing.T) {
	t.Parallel()
	for _, name := range Types() {
		if title, description, _ := describe(name); title == "" || description == "" {
			t.Errorf("the schema of %s lacks a title or a description", name)
		}
	}
}
