package chart

import (
	"encoding/json"
	"testing"
	"time"
)

func FuzzCompile(f *testing.F) {
	for _, s := range scenarios(f) {
		f.Add([]byte(s.Config))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		m, problems := Compile(config)
		if (m == nil) != (len(problems) > 0) {
			t.Fatalf("machine %v with problems %v", m != nil, problems)
		}
		for _, p := range problems {
			if p.Code == "" || p.Message == "" {
				t.Fatalf("a problem without code or message: %+v", p)
			}
		}
		if m == nil {
			return
		}
		m.Check(Known{Events: []string{}, Fields: []string{}})
		if len(m.States()) > MaxStates {
			t.Fatal("too many states")
		}
		if start, err := m.Start(nil, Scope{}); err == nil && m.Step(start.Snapshot) == "" {
			t.Fatalf("the start has no step: %s", start.Snapshot.Value)
		}
	})
}

// Snapshots come from a store that others may have written to.
func FuzzSend(f *testing.F) {
	for _, s := range scenarios(f) {
		f.Add([]byte(s.Config), []byte(`{"status":"active","value":"a","context":{}}`), "GO", []byte(`{"v":1}`))
	}
	f.Fuzz(func(t *testing.T, config, snapshot []byte, event string, payload []byte) {
		m, _ := Compile(config)
		var s Snapshot
		if m == nil || json.Unmarshal(snapshot, &s) != nil {
			return
		}
		scope := Scope{Now: time.UnixMilli(0)}
		for _, from := range []func() (Result, error){
			func() (Result, error) { return m.Send(s, Event{Type: event, Payload: payload}, scope) },
			func() (Result, error) { return m.Fire(s, event, scope) },
		} {
			result, err := from()
			if err != nil {
				continue
			}
			again := reread(t, result.Snapshot)
			if result.Handled {
				if _, err := m.resume(again, scope); err != nil {
					t.Fatalf("its own snapshot is refused: %v\n%s", err, result.Snapshot.Value)
				}
			}
		}
	})
}

func BenchmarkSend(b *testing.B) {
	m, problems := Compile(scenarios(b)["payment"].Config)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	start, err := m.Start(nil, Scope{})
	if err != nil {
		b.Fatal(err)
	}
	event := Event{Type: "PAYMENT_EXTRACTED", Payload: json.RawMessage(`{"amount":5,"payment_method":"card"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Send(start.Snapshot, event, Scope{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	config := scenarios(b)["payment"].Config
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Compile(config); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
