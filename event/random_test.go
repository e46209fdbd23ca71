package event

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

func drawEnvelope(t *rapid.T) *Envelope {
	opaque := rapid.Custom(func(t *rapid.T) string {
		text := strings.ReplaceAll(strings.ToValidUTF8(rapid.StringN(1, 30, 120).Draw(t, "text"), "?"), "\x00", "0")
		return text
	})
	object := rapid.Custom(func(t *rapid.T) json.RawMessage {
		raw, err := json.Marshal(rapid.MapOfN(opaque, rapid.Float64Range(-1e9, 1e9), 0, 4).Draw(t, "object"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	})
	e := &Envelope{
		EventID:       rondo.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
		Type:          rapid.StringMatching(`[a-z][a-z0-9_]{0,9}(\.[a-z0-9_]{1,9}){0,3}`).Draw(t, "type"),
		SchemaVersion: SchemaVersion,
		OccurredAt:    time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC(),
		CorrelationID: opaque.Draw(t, "correlation"),
		CaseID:        opaque.Draw(t, "case"),
		OrgID:         opaque.Draw(t, "org"),
		ProductID:     opaque.Draw(t, "product"),
		Payload:       object.Draw(t, "payload"),
	}
	e.EventID[0] |= 1 // never the nil UUID
	if rapid.Bool().Draw(t, "run") {
		e.Type, e.RunID = rapid.SampledFrom([]string{TypeRunStarted, TypeRunStepRequested, TypeRunStepFailed}).Draw(t, "run type"), opaque.Draw(t, "run id")
		if rapid.Bool().Draw(t, "alone") {
			e.CaseID, e.ProductID = "", ""
		}
	}
	if rapid.Bool().Draw(t, "optional") {
		e.CausationID, e.Traceparent = opaque.Draw(t, "causation"), opaque.Draw(t, "trace")
	}
	if extra := rapid.MapOfN(opaque, object, 0, 3).Draw(t, "extra"); len(extra) > 0 {
		e.Extra = extra
	}
	return e
}

func TestParseOfEncodeIsTheSameEnvelope(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawEnvelope(t)
		raw := want.Encode()
		if err := canon.Check(raw, canon.Limits{}); err != nil {
			t.Fatalf("Encode writes %s: %v", raw, err)
		}
		got, err := Parse(raw)
		if err != nil {
			t.Fatalf("Parse(%s): %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(full(f).Encode())
	f.Add(with(f, "payload", ""))
	f.Add(ofRun(f).Encode())
	f.Add(with(f, "run_id", "7"))
	f.Add([]byte(`{"event_id":1,"EVENT_ID":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := Parse(raw)
		if err != nil {
			refused, ok := err.(*rondo.Error)
			if !ok || len(refused.Fields) == 0 {
				t.Fatalf("Parse(%q) error = %#v", raw, err)
			}
			return
		}
		wire := first.Encode()
		second, err := Parse(wire)
		if err != nil {
			t.Fatalf("Parse accepts %q but not its encoding %q: %v", raw, wire, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("%q read twice (-first +second):\n%s", raw, diff)
		}
		if !bytes.Equal(wire, second.Encode()) {
			t.Fatalf("%q is written in two ways", raw)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	raw := full(b).Encode()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	envelope := full(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = envelope.Encode()
	}
}
