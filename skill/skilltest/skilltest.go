// Package skilltest holds the conformance suite of skills: every driver is made to
// behave well and badly, and must keep the port's promises either way.
//
// It imports the standard library, the root package, the skill port and goleak.
package skilltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// Behaviour is what the suite wants a skill to do.
type Behaviour string

// The behaviours.
const (
	// Echo answers {"said": TEXT} with the input's member text.
	Echo Behaviour = "echo"
	// Garbage answers with something that is not what it should be.
	Garbage Behaviour = "garbage"
	// Huge answers with valid JSON of more than Limits.Output bytes.
	Huge Behaviour = "huge"
	// Endless never stops answering.
	Endless Behaviour = "endless"
	// Hang calls Harness.Begun and then does nothing until it is stopped.
	Hang Behaviour = "hang"
	// Fail does not do its work: exit code 1, status 500.
	Fail Behaviour = "fail"
	// Crash breaks off in the middle.
	Crash Behaviour = "crash"
	// File makes an artifact with FileContent.
	File Behaviour = "file"
	// BigFile makes an artifact of more than Limits.Artifact bytes.
	BigFile Behaviour = "big file"
)

// FileContent is what File makes.
const FileContent = "made by a skill: grüß Gott, 世界 🎈\n"

// Secret is in the environment of some skills and in none of their errors.
const Secret = "Zm9vYmFy-secret-token"

// Limits are the bounds under which the suite's skills run.
func Limits() skill.Limits { return skill.Limits{Output: 64 << 10, Artifact: 128 << 10} }

// Harness makes the skills of one driver.
type Harness struct {
	// New returns a skill that behaves so. Begun is called, at least once, when Hang
	// has begun; others ignore it. What New starts it stops by t.Cleanup.
	New func(t *testing.T, b Behaviour, begun func()) skill.Skill
	// Cannot says why the driver cannot be made to behave so.
	Cannot map[Behaviour]string
	// Gone fails the test when something of a skill that was stopped is still there.
	// Default: goroutines are looked at, nothing else.
	Gone func(t *testing.T)
}

// Run holds a driver to the port's guarantees.
func Run(t *testing.T, h Harness) {
	t.Helper()
	tests := []struct {
		name  string
		needs Behaviour
		test  func(*testing.T, kit)
	}{
		{"it answers in every script", Echo, testUnicode},
		{"one skill serves many at once", Echo, testConcurrent},
		{"a call that is over begins nothing", Echo, testOver},
		{"no input is an empty one", Echo, testNoInput},
		{"garbage is told as such, and not repeated", Garbage, testFailure("")},
		{"too much is refused", Huge, testFailure("bytes")},
		{"what does not stop is stopped", Endless, testFailure("bytes")},
		{"a failure is told", Fail, testFailure("")},
		{"a crash is told", Crash, testFailure("")},
		{"it stops when it is cancelled", Hang, testCancel},
		{"it stops at its deadline", Hang, testDeadline},
		{"files go to the blobs", File, testFile},
		{"files that are too large are refused", BigFile, testFailure("too large")},
		{"a blob store that fails is no success", File, testBrokenBlobs},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if why := h.Cannot[test.needs]; why != "" {
				t.Skipf("this driver cannot %s: %s", test.needs, why)
			}
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after what New cleans up
			begun := make(chan struct{}, 100)
			k := kit{begun: begun, blobs: NewBlobs()}
			k.skill = h.New(t, test.needs, func() {
				select {
				case begun <- struct{}{}:
				default:
				}
			})
			test.test(t, k)
			if h.Gone != nil {
				h.Gone(t)
			}
		})
	}
}

type kit struct {
	skill skill.Skill
	begun chan struct{}
	blobs *Blobs
}

// patience is far more than any answer takes, and ends a test that would hang.
const patience = 30 * time.Second

func (k kit) call(text string) skill.Call {
	input, _ := json.Marshal(map[string]string{"text": text})
	return skill.Call{RunID: rondo.ID{1, 2, 3}, StepID: "step", Attempt: 1, Skill: "test@1", Input: input, Blobs: k.blobs}
}

func (k kit) do(t *testing.T, text string) (skill.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := k.skill.Do(ctx, k.call(text))
	Check(t, result, err)
	return result, err
}

// Check holds one answer to the port.
func Check(t *testing.T, result skill.Result, err error) {
	t.Helper()
	said := result.Error
	if err != nil {
		said += err.Error()
	}
	if strings.Contains(said, Secret) {
		t.Errorf("a secret is told: %q", said)
	}
	switch {
	case err != nil:
	case result.OK:
		if result.Data != nil && !json.Valid(result.Data) {
			t.Errorf("the data is no JSON: %q", result.Data)
		}
		if result.Error != "" || result.ErrorCode != "" {
			t.Errorf("a result that is ok has an error: %s, %s", result.ErrorCode, result.Error)
		}
	case result.ErrorCode == "" || result.Error == "":
		t.Errorf("a failure has the code %q and the message %q", result.ErrorCode, result.Error)
	case len(result.Error) > 8<<10:
		t.Errorf("the message has %d bytes", len(result.Error))
	}
}

func testUnicode(t *testing.T, k kit) {
	for _, text := range []string{
		"", "plain", "grüß Gott", "日本語テキスト", "שלום עולם", "مرحبا", "👩‍👩‍👧‍👦 🎈", "é", "a\u2028b\u2029c", `"quotes" \ / 'and' <tags> & {{more}}`,
		"line\nbreaks\r\n\ttabs", "\x00\x01\x7f", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", strings.Repeat("long ", 1000), "%d %s $HOME `id` $(id)",
	} {
		result, err := k.do(t, text)
		var told struct {
			Said *string `json:"said"`
		}
		if err != nil || !result.OK || json.Unmarshal(result.Data, &told) != nil || told.Said == nil || *told.Said != text {
			t.Errorf("%.40q comes back as %.60q (%s), %v", text, result.Data, result.Error, err)
		}
	}
}

func testConcurrent(t *testing.T, k kit) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := fmt.Sprint("number ", i)
			result, err := k.do(t, text)
			if err != nil || !strings.Contains(string(result.Data), text) {
				t.Errorf("call %d gets %s (%s), %v", i, result.Data, result.Error, err)
			}
		})
	}
	all.Wait()
}

func testOver(t *testing.T, k kit) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.skill.Do(ctx, k.call("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's own", err)
	}
}

func testNoInput(t *testing.T, k kit) {
	call := k.call("")
	call.Input = nil
	result, err := k.skill.Do(t.Context(), call)
	Check(t, result, err)
}

func testFailure(mention string) func(*testing.T, kit) {
	return func(t *testing.T, k kit) {
		result, err := k.do(t, "x")
		if err != nil {
			t.Fatalf("the error is Do's own, %v, want a result", err)
		}
		if result.OK {
			t.Fatalf("it is ok, with %.100s", result.Data)
		}
		if result.ErrorCode != string(rondo.CodeSkillError) || !strings.Contains(result.Error, mention) {
			t.Errorf("%s: %q, want %s with %q", result.ErrorCode, result.Error, rondo.CodeSkillError, mention)
		}
	}
}

func testCancel(t *testing.T, k kit) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := k.skill.Do(ctx, k.call("x"))
		ended <- err
	}()
	select {
	case <-k.begun:
	case err := <-ended:
		t.Fatalf("it ended by itself: %v", err)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the context's own", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
}

func testDeadline(t *testing.T, k kit) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := k.skill.Do(ctx, k.call("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the context's own", err)
	}
}

func testFile(t *testing.T, k kit) {
	result, err := k.do(t, "x")
	if err != nil || !result.OK || len(result.Artifacts) != 1 {
		t.Fatalf("%+v, %v, want one artifact", result, err)
	}
	artifact := result.Artifacts[0]
	content, ok := k.blobs.Get(artifact.Hash)
	if !ok || string(content) != FileContent || artifact.Size != int64(len(FileContent)) {
		t.Errorf("the artifact %s of %d bytes has %q in the blobs", artifact.Hash, artifact.Size, content)
	}
	if artifact.Type == "" || artifact.Name == "" || artifact.Bytes != nil {
		t.Errorf("the artifact is %+v, want a type, a name and no bytes", artifact)
	}
}

func testBrokenBlobs(t *testing.T, k kit) {
	k.blobs.Break(errors.New("the disk is full"))
	result, err := k.do(t, "x")
	if err == nil && result.OK {
		t.Errorf("it is ok, with %+v", result.Artifacts)
	}
}
