package event

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

var update = flag.Bool("update", false, "write the golden files of the wire form again")

func mustID(t testing.TB, text string) rondo.ID {
	t.Helper()
	id, err := rondo.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// full is an envelope in which every member is set.
func full(t testing.TB) *Envelope {
	return &Envelope{
		EventID:       mustID(t, "018f3c2e-7a10-7c3d-9b1e-0123456789ab"),
		Type:          TypeAIReviewCompleted,
		SchemaVersion: SchemaVersion,
		OccurredAt:    time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC),
		CorrelationID: "018f3c2e-7a10-7c3d-9b1e-00000000c0de",
		CausationID:   "018f3c2e-7a10-7c3d-9b1e-00000000ca05",
		CaseID:        "case-42",
		OrgID:         "org-1",
		ProductID:     "skin",
		Payload:       json.RawMessage(`{"confidence":0.65,"diagnoses":[{"code":"L57.0"}],"raw_response_id":"r-1"}`),
		Traceparent:   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Extra:         map[string]json.RawMessage{"region": json.RawMessage(`"eu"`), "hops": json.RawMessage(`[1, 2]`)},
	}
}

func TestWireForm(t *testing.T) {
	t.Parallel()
	minimal := full(t)
	minimal.CausationID, minimal.Traceparent, minimal.Extra, minimal.Payload = "", "", nil, nil
	minimal.Type, minimal.SchemaVersion = TypeCaseCreated, ""
	minimal.OccurredAt = time.Date(2026, 1, 31, 13, 0, 0, 0, time.FixedZone("", 3600))
	awkward := full(t)
	awkward.CaseID = "<a & b> \"q\" \\ / \n\r\t\x01\x7f\u2028 é😀 \xff"
	awkward.Extra = map[string]json.RawMessage{
		"event_id": json.RawMessage(`"replaced"`), "a\"b": json.RawMessage(`1`), "none": nil,
	}
	for name, envelope := range map[string]*Envelope{"full": full(t), "minimal": minimal, "awkward": awkward} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := append(envelope.Encode(), '\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
			parsed, err := Parse(got)
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(string(want), string(parsed.Encode())+"\n"); diff != "" {
				t.Errorf("encoded again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	want := full(t)
	got, err := Parse(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rondo.CaseKey{OrgID: "org-1", CaseID: "case-42"}, got.Key()); diff != "" {
		t.Errorf("Key (-want +got):\n%s", diff)
	}
}

// with returns a valid envelope as JSON in which one member has another value;
// "" removes the member.
func with(t testing.TB, name, value string) []byte {
	t.Helper()
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(full(t).Encode(), &members); err != nil {
		t.Fatal(err)
	}
	members[name] = json.RawMessage(value)
	if value == "" {
		delete(members, name)
	}
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestParseTolerates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, member, value string
		check               func(*Envelope) bool
	}{
		{"no payload", "payload", "", func(e *Envelope) bool { return string(e.Payload) == "{}" }},
		{"no causation", "causation_id", "", func(e *Envelope) bool { return e.CausationID == "" }},
		{"null causation", "causation_id", "null", func(e *Envelope) bool { return e.CausationID == "" }},
		{"empty causation", "causation_id", `""`, func(e *Envelope) bool { return e.CausationID == "" }},
		{"no traceparent", "traceparent", "", func(e *Envelope) bool { return e.Traceparent == "" }},
		{"null traceparent", "traceparent", "null", func(e *Envelope) bool { return e.Traceparent == "" }},
		{"other extra member", "x", `{"y":[1]}`, func(e *Envelope) bool { return string(e.Extra["x"]) == `{"y":[1]}` }},
		{"case variants inside the payload", "payload", `{"a":1,"A":2,"Case_ID":3}`, func(e *Envelope) bool { return len(e.Payload) > 2 }},
		{"upper-case UUID", "event_id", `"018F3C2E-7A10-7C3D-9B1E-0123456789AB"`, func(e *Envelope) bool { return e.EventID == full(t).EventID }},
		{"time with an offset", "occurred_at", `"2026-01-31T13:00:00.5+01:00"`, func(e *Envelope) bool {
			return e.OccurredAt.Equal(time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)) && e.OccurredAt.Location() == time.UTC
		}},
		{"escaped text", "case_id", `"c\u00e4se\n"`, func(e *Envelope) bool { return e.CaseID == "cäse\n" }},
		{"escaped version", "schema_version", `"\u00761"`, func(e *Envelope) bool { return e.SchemaVersion == "v1" }},
		{"longest id", "org_id", `"` + strings.Repeat("x", 128) + `"`, func(e *Envelope) bool { return len(e.OrgID) == 128 }},
		{"type with digits", "event_type", `"ext.2fa.step_1.requested"`, func(e *Envelope) bool { return e.Type == "ext.2fa.step_1.requested" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(with(t, tc.member, tc.value))
			if err != nil {
				t.Fatal(err)
			}
			if !tc.check(got) {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

func TestParseRefusesMembers(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 129) + `"`
	for _, tc := range []struct{ name, member, value, code string }{
		{"no event id", "event_id", "", "required"},
		{"event id is a number", "event_id", "1", "type"},
		{"event id is no UUID", "event_id", `"canary"`, "format"},
		{"event id without hyphens", "event_id", `"018f3c2e7a107c3d9b1e0123456789ab"`, "format"},
		{"nil event id", "event_id", `"00000000-0000-0000-0000-000000000000"`, "format"},
		{"no type", "event_type", "", "required"},
		{"empty type", "event_type", `""`, "format"},
		{"upper-case type", "event_type", `"Case.created"`, "format"},
		{"type ends with a dot", "event_type", `"case."`, "format"},
		{"type begins with a dot", "event_type", `".case"`, "format"},
		{"type with two dots", "event_type", `"case..created"`, "format"},
		{"type with a hyphen", "event_type", `"case-created"`, "format"},
		{"type with a space", "event_type", `"case created"`, "format"},
		{"type begins with a digit", "event_type", `"1case"`, "format"},
		{"long type", "event_type", long, "format"},
		{"type is null", "event_type", "null", "type"},
		{"no version", "schema_version", "", "required"},
		{"other version", "schema_version", `"v2"`, "value"},
		{"version is a number", "schema_version", "1", "type"},
		{"no time", "occurred_at", "", "required"},
		{"time without zone", "occurred_at", `"2026-01-31T12:00:00"`, "format"},
		{"time as a number", "occurred_at", "1767225600000", "type"},
		{"lenient time", "occurred_at", `"2026-01-31T1:00:00Z"`, "format"},
		{"decimal comma", "occurred_at", `"2026-01-31T12:00:00,5Z"`, "format"},
		{"impossible offset", "occurred_at", `"2026-01-31T12:00:00+24:00"`, "format"},
		{"impossible offset minutes", "occurred_at", `"2026-01-31T12:00:00+01:60"`, "format"},
		{"offset without colon", "occurred_at", `"2026-01-31T12:00:00+0100"`, "format"},
		{"fraction without digits", "occurred_at", `"2026-01-31T12:00:00.Z"`, "format"},
		{"space for T", "occurred_at", `"2026-01-31 12:00:00Z"`, "format"},
		{"date only", "occurred_at", `"2026-01-31"`, "format"},
		{"impossible day", "occurred_at", `"2026-02-30T12:00:00Z"`, "format"},
		{"before year 0 in UTC", "occurred_at", `"0000-01-01T00:00:00+01:00"`, "format"},
		{"after year 9999 in UTC", "occurred_at", `"9999-12-31T23:59:59-01:00"`, "format"},
		{"no correlation", "correlation_id", "", "required"},
		{"empty correlation", "correlation_id", `""`, "length"},
		{"null correlation", "correlation_id", "null", "type"},
		{"long causation", "causation_id", long, "length"},
		{"causation is a number", "causation_id", "5", "type"},
		{"no case", "case_id", "", "required"},
		{"empty case", "case_id", `""`, "length"},
		{"long case", "case_id", long, "length"},
		{"case counted in bytes", "case_id", `"` + strings.Repeat("ö", 65) + `"`, "length"},
		{"NUL in an id", "case_id", `"a\u0000b"`, "format"},
		{"no org", "org_id", "", "required"},
		{"org is an object", "org_id", "{}", "type"},
		{"no product", "product_id", "", "required"},
		{"null product", "product_id", "null", "type"},
		{"payload is null", "payload", "null", "type"},
		{"payload is an array", "payload", "[]", "type"},
		{"payload is a string", "payload", `"{}"`, "type"},
		{"long traceparent", "traceparent", long, "length"},
		{"case variant", "Org_Id", `"other"`, "name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(with(t, tc.member, tc.value))
			refused, ok := err.(*rondo.Error)
			if !ok || refused.Code != rondo.CodeInvalid || len(refused.Fields) != 1 {
				t.Fatalf("error = %#v, want one invalid field", err)
			}
			if field := refused.Fields[0]; field.Pointer != "/"+tc.member || field.Code != tc.code || field.Message == "" {
				t.Errorf("field = %+v, want code %s at /%s", field, tc.code, tc.member)
			}
			if strings.Contains(refused.Fields[0].Message, "canary") {
				t.Errorf("the message shows the value: %s", refused.Fields[0].Message)
			}
		})
	}
}

func TestParseListsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"event_id":5,"payload":[],"case_id":"","extra":1}`))
	refused, ok := err.(*rondo.Error)
	if !ok {
		t.Fatalf("error = %v", err)
	}
	var got []string
	for _, field := range refused.Fields {
		got = append(got, field.Pointer+" "+field.Code)
	}
	want := []string{
		"/event_id type", "/payload type", "/case_id length",
		"/event_type required", "/schema_version required", "/occurred_at required", "/correlation_id required", "/org_id required", "/product_id required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefusesWhatIsNotStrictJSON(t *testing.T) {
	t.Parallel()
	valid := string(full(t).Encode())
	for _, tc := range []struct {
		name, raw, pointer string
		code               rondo.Code
	}{
		{"nothing", "", "", rondo.CodeInvalid},
		{"not an object", `[1]`, "", rondo.CodeInvalid},
		{"two values", valid + valid, "", rondo.CodeInvalid},
		{"cut off", valid[:len(valid)-1], "", rondo.CodeInvalid},
		{"duplicate member", valid[:len(valid)-1] + `,"org_id":"other"}`, "/org_id", rondo.CodeInvalid},
		{"duplicate member, escaped", valid[:len(valid)-1] + `,"\u006frg_id":"other"}`, "/org_id", rondo.CodeInvalid},
		{"duplicate in the payload", string(with(t, "x", "1"))[:1] + `"payload":{"a":{"b":1,"b":2}}}`, "/payload/a/b", rondo.CodeInvalid},
		{"unsafe integer", `{"payload":{"n":[9007199254740993]}}`, "/payload/n/0", rondo.CodeInvalid},
		{"overflow", `{"payload":{"n":1e400}}`, "/payload/n", rondo.CodeInvalid},
		{"lone surrogate", `{"payload":{"s":"\ud800"}}`, "/payload/s", rondo.CodeInvalid},
		{"invalid UTF-8", "{\"x\":\"\xff\"}", "/x", rondo.CodeInvalid},
		{"too deep", `{"payload":` + strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 33), "/payload" + strings.Repeat("/a", 31), rondo.CodeInvalid},
		{"too large", `{"x":"` + strings.Repeat("x", 256<<10) + `"}`, "", rondo.CodeTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tc.raw))
			refused, ok := err.(*rondo.Error)
			if !ok || refused.Code != tc.code || len(refused.Fields) != 1 {
				t.Fatalf("error = %#v, want one field of code %s", err, tc.code)
			}
			if field := refused.Fields[0]; field.Pointer != tc.pointer || field.Code != "malformed" {
				t.Errorf("field = %+v, want malformed at %q", field, tc.pointer)
			}
		})
	}
}

func TestWhatTheOrchestratorPublishesMayBeLarger(t *testing.T) {
	t.Parallel()
	sized := func(eventType string, bytes, depth int) []byte {
		e := full(t)
		e.Type = eventType
		nested := strings.Repeat(`{"a":`, depth-2) + "1" + strings.Repeat("}", depth-2)
		e.Payload = json.RawMessage(`{"context_snapshot":` + nested + `,"x":"` + strings.Repeat("x", bytes) + `"}`)
		return e.Encode()
	}
	for _, tc := range []struct {
		name, eventType string
		bytes, depth    int
		code            rondo.Code // "" = accepted
	}{
		{"inbound, deepest", TypeAIReviewCompleted, 10, MaxDepth, ""},
		{"inbound, too deep", TypeAIReviewCompleted, 10, MaxDepth + 1, rondo.CodeInvalid},
		{"inbound, too large", TypeAIReviewCompleted, MaxBytes, 4, rondo.CodeTooLarge},
		{"request, deeper", TypeHumanReviewRequested, 10, MaxPublishedDepth, ""},
		{"request, larger", TypeHumanReviewRequested, 2 * MaxBytes, 4, ""},
		{"request, too deep", TypeHumanReviewRequested, 10, MaxPublishedDepth + 1, rondo.CodeInvalid},
		{"request, too large", TypeHumanReviewRequested, MaxPublishedBytes, 4, rondo.CodeTooLarge},
		{"request of an own kind, larger", "ext.kyc.requested", 2 * MaxBytes, 4, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(sized(tc.eventType, tc.bytes, tc.depth)); rondo.CodeOf(err) != tc.code {
				t.Errorf("error = %v, want code %q", err, tc.code)
			}
		})
	}
}

func TestDerivedID(t *testing.T) {
	t.Parallel()
	// The DNS namespace and example of RFC 9562.
	dns := mustID(t, "6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	if got, want := DerivedID(dns, "www.example.com"), mustID(t, "2ed6657d-e927-568b-95e1-2665a8aea6a2"); got != want {
		t.Errorf("DerivedID = %s, want %s", got, want)
	}
	if DerivedID(dns, "a") == DerivedID(dns, "b") || DerivedID(dns, "a") == DerivedID(rondo.ID{}, "a") {
		t.Error("different names or namespaces give the same id")
	}
}
