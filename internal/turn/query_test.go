package turn

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func at(step string, turns int, data string) rondo.ConversationState {
	var s rondo.ConversationState
	s.Step, s.TurnCount = step, turns
	_ = json.Unmarshal([]byte(data), &s.CollectedData)
	return s
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestThePreambleIsGoldenByteForByte(t *testing.T) {
	query, truncation := compiled(t, small()).Query(at("intake", 2, `{"name": "Alice"}`), "What is my eligibility?")
	golden(t, "preamble.txt", query)
	if truncation != "" {
		t.Errorf("truncation is %q", truncation)
	}
}

func TestTheOlderBlockIsGoldenByteForByte(t *testing.T) {
	context := rondo.WorkflowContext{
		Step: "intake", Constraints: []string{"adults only", "EU"}, CollectedData: map[string]json.RawMessage{"name": json.RawMessage(`"Alice"`)},
	}
	query, truncation := OlderQuery(context, "What is my eligibility?")
	golden(t, "older.txt", query)
	if truncation != "" {
		t.Errorf("truncation is %q", truncation)
	}
	want := "[WORKFLOW_CONTEXT]\nstep: s\nconstraints: none\ndata: {}\n[/WORKFLOW_CONTEXT]\n\n$& {step}"
	if got, _ := OlderQuery(rondo.WorkflowContext{Step: "s"}, "$& {step}"); got != want {
		t.Errorf("without constraints and data it is %q", got)
	}
}

func TestDataOfTheOlderBlockShrinksToo(t *testing.T) {
	for _, test := range []struct{ name, value, data, truncation string }{
		{"note", strings.Repeat("ä", 2000-len(`{"note":""}`)), "", ""},
		{"note", strings.Repeat("ä", 2000-len(`{"note":""}`)+1), `["note"]`, TruncatedKeys},
		{strings.Repeat("n", 2000), "x", `"omitted"`, TruncatedOmitted},
	} {
		data := map[string]json.RawMessage{test.name: json.RawMessage(`"` + test.value + `"`)}
		if test.data == "" {
			test.data = `{"note":"` + test.value + `"}`
		}
		query, truncation := OlderQuery(rondo.WorkflowContext{Step: "s", CollectedData: data}, "hi")
		want := "[WORKFLOW_CONTEXT]\nstep: s\nconstraints: none\ndata: " + test.data + "\n[/WORKFLOW_CONTEXT]\n\nhi"
		if query != want || truncation != test.truncation {
			t.Errorf("%.10s of %d: truncation %q, query %.120q", test.name, len(test.value), truncation, query)
		}
	}
}

func TestTemplatesAreFilledInOneLiteralPass(t *testing.T) {
	d := compiled(t, small(`"contextTemplate":"$& {step}|{dataJson}|{turnCount}|{other}|{{step}}|{userMessage}|$1"`))
	query, _ := d.Query(at("{dataJson}", 7, `{"a":"{userMessage}<&>"}`), "{step} $& $1 \\0")
	want := `$& {dataJson}|{"a":"{userMessage}<&>"}|7|{other}|{{dataJson}}|{step} $& $1 \0|$1`
	if query != want {
		t.Errorf("got  %s\nwant %s", query, want)
	}
}

func TestDataShrinksUntilThePreambleFits(t *testing.T) {
	d := compiled(t, small())
	frame := units("[CONTEXT]\nPhase: s\nCollected data: \nTurn number: 0\n[/CONTEXT]\n\n")
	room := maxPreamble - frame
	fit := func(n int, char string) string { // an object that takes n units
		return `{"k":"` + strings.Repeat(char, (n-len(`{"k":""}`))/units(char)) + `"}`
	}
	manyKeys := map[string]int{}
	for i := range 400 {
		manyKeys[strings.Repeat("k", 5)+string(rune('a'+i%26))+string(rune('a'+i/26))] = i
	}
	for _, test := range []struct{ name, data, truncation, line string }{
		{"exactly full", fit(room, "x"), "", ""},
		{"one over", fit(room+1, "x"), TruncatedKeys, `Collected data: ["k"]`},
		{"surrogates count twice", fit(room, "😀"), "", ""},
		{"one surrogate pair over", fit(room+2, "😀"), TruncatedKeys, `Collected data: ["k"]`},
		{"umlauts count once", fit(room, "ü"), "", ""},
		{"keys alone are too long", js(t, manyKeys), TruncatedOmitted, `Collected data: "omitted"`},
	} {
		text := strings.Repeat("u", 4000)
		query, truncation := d.Query(at("s", 0, test.data), text)
		if truncation != test.truncation || !strings.HasSuffix(query, "\n\n"+text) || !strings.Contains(query, test.line) {
			t.Errorf("%s: truncation %q, query %.120q", test.name, truncation, query)
		}
		if n := units(strings.TrimSuffix(query, text)); n > maxPreamble {
			t.Errorf("%s: the preamble has %d units", test.name, n)
		}
	}
}

func TestNumbersAreSentAsTheyWereWritten(t *testing.T) {
	query, _ := compiled(t, small()).Query(at("s", 0, `{"b":12345678901234567890,"a":1.50}`), "x")
	if !strings.Contains(query, `Collected data: {"a":1.50,"b":12345678901234567890}`) {
		t.Error(query)
	}
}

func TestWhatStoresEscapeIsSentPlainly(t *testing.T) {
	before := stored(t, at("s", 0, `{"a":"<b> $& \\u0026 \u2028 \u0041","&":1}`))
	query, _ := compiled(t, small()).Query(before, "x")
	if !strings.Contains(query, "Collected data: {\"&\":1,\"a\":\"<b> $& \\\\u0026 \u2028 \\u0041\"}\n") {
		t.Errorf("%q", query)
	}
}
