package exec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/exec"
	"github.com/rondo-engine/rondo/skill/skilltest"
)

// The test binary is the command: these variables say how it behaves.
const (
	behaviour = "RONDO_TEST_BEHAVIOUR"
	callBack  = "RONDO_TEST_CALL_BACK" // where Hang says that it has begun
)

func TestMain(m *testing.M) {
	if b := os.Getenv(behaviour); b != "" {
		os.Exit(behave(skilltest.Behaviour(b)))
	}
	if pipe := os.Getenv(doomed); pipe != "" {
		os.Exit(beDoomed(pipe))
	}
	os.Exit(m.Run())
}

// behave is the command.
func behave(b skilltest.Behaviour) int {
	var asked struct {
		RunID   string `json:"run_id"`
		StepID  string `json:"step_id"`
		Attempt int    `json:"attempt"`
		Input   struct {
			Text string `json:"text"`
		} `json:"input"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil || asked.StepID != "step" || asked.Attempt != 1 || asked.RunID == "" {
		fmt.Fprintln(os.Stderr, "the input is not what was promised", err)
		return 3
	}
	limits := skilltest.Limits()
	switch b {
	case skilltest.Echo:
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"said": asked.Input.Text})
	case skilltest.Garbage:
		fmt.Println("{\n  \"said\": oops")
	case skilltest.Huge:
		fmt.Printf("%q", strings.Repeat("x", int(limits.Output)))
	case skilltest.Endless:
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1000)); err != nil {
				return 1
			}
		}
	case skilltest.Hang:
		// A child, so that killing the command alone would not be enough.
		child := osexec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 1
		}
		if connection, err := net.Dial("tcp", os.Getenv(callBack)); err == nil {
			fmt.Fprintln(connection, child.Process.Pid)
			_ = connection.Close()
		}
		_ = child.Wait()
	case skilltest.Fail:
		fmt.Fprintln(os.Stderr, "first line\nthe disk is full")
		return 1
	case skilltest.Crash:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case skilltest.File, skilltest.BigFile:
		content := []byte(skilltest.FileContent)
		if b == skilltest.BigFile {
			content = make([]byte, limits.Artifact+1)
		}
		if os.Mkdir("out", 0o700) != nil || os.WriteFile("out/file.txt", content, 0o600) != nil {
			return 1
		}
	}
	return 0
}

func newSkill(t *testing.T, config map[string]any) *exec.Skill {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := exec.New(raw, exec.Options{Allow: true, Limits: skilltest.Limits(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestACommandIsASkill(t *testing.T) {
	var mu sync.Mutex
	var children []int
	harness := skilltest.Harness{
		New: func(t *testing.T, b skilltest.Behaviour, begun func()) skill.Skill {
			t.Helper()
			mu.Lock()
			children = nil
			mu.Unlock()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					connection, err := listener.Accept()
					if err != nil {
						return
					}
					var pid int
					if _, err := fmt.Fscan(connection, &pid); err == nil {
						mu.Lock()
						children = append(children, pid)
						mu.Unlock()
					}
					_ = connection.Close()
					begun()
				}
			}()
			temp := t.TempDir()
			t.Cleanup(func() {
				_ = listener.Close()
				<-done
				if left, _ := os.ReadDir(temp); len(left) > 0 {
					t.Errorf("%d folders are left", len(left))
				}
			})
			raw, err := json.Marshal(map[string]any{
				"command": self(t), "artifacts": []any{map[string]any{"path": "out/*", "optional": true}},
				"env": []string{"GORACE=atexit_sleep_ms=0", behaviour + "=" + string(b), callBack + "=" + listener.Addr().String()},
			})
			if err != nil {
				t.Fatal(err)
			}
			s, err := exec.New(raw, exec.Options{Allow: true, Limits: skilltest.Limits(), TempDir: temp})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Gone: func(t *testing.T) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for _, pid := range children {
				// A process that was killed and waits for its new parent to notice is gone.
				status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
				if err == nil && !strings.Contains(string(status), ") Z ") {
					t.Errorf("process %d is still there: %s", pid, status)
				}
			}
		},
	}
	skilltest.Run(t, harness)
}

func do(t *testing.T, s skill.Skill, input string) skill.Result {
	t.Helper()
	result, err := s.Do(t.Context(), skill.Call{StepID: "step", Attempt: 1, Input: json.RawMessage(input), Blobs: skilltest.NewBlobs()})
	if err != nil {
		t.Fatal(err)
	}
	skilltest.Check(t, result, err)
	return result
}

// shell is a command of one line.
func shell(line string, more map[string]any) map[string]any {
	config := map[string]any{"command": "sh", "args": []string{"-c", line}}
	maps.Copy(config, more)
	return config
}

func TestWhatACommandPrintsIsRead(t *testing.T) {
	t.Parallel()
	text := map[string]any{"output": "text"}
	tests := map[string]struct {
		config    map[string]any
		ok        bool
		data      string
		message   string
		retryable bool
	}{
		"data":                {config: shell(`echo '{"a": 1}'`, nil), ok: true, data: `{"a": 1}`},
		"a number":            {config: shell(`echo 5`, nil), ok: true, data: `5`},
		"nothing":             {config: shell(`:`, nil), ok: true},
		"the input":           {config: shell(`cat`, nil), ok: true, data: `{"run_id":"00000000-0000-0000-0000-000000000000","step_id":"step","attempt":1,"input":{"a":"<&>"}}`},
		"a result":            {config: shell(`echo '{"ok": true, "data": [1]}'`, nil), ok: true, data: `[1]`},
		"ok that is no bool":  {config: shell(`echo '{"ok": "yes"}'`, nil), ok: true, data: `{"ok": "yes"}`},
		"a failure":           {config: shell(`echo '{"ok": false, "error": "no", "retryable": false}'`, nil), message: "no"},
		"a failure to retry":  {config: shell(`echo '{"ok": false}'`, nil), message: "not why", retryable: true},
		"a wrong result":      {config: shell(`echo '{"ok": true, "artifacts": 5}'`, nil), message: "artifacts"},
		"no artifact":         {config: shell(`echo '{"ok": true, "artifacts": [{"type": "a/b"}]}'`, nil), message: "neither uri nor bytes"},
		"text":                {config: shell(`printf 'a "b"\n'`, text), ok: true, data: `"a \"b\"\n"`},
		"text that is none":   {config: shell(`printf '\377'`, text), message: "UTF-8"},
		"garbage":             {config: shell(`printf '{\n "a": oops}'`, nil), message: "line 2, column 7"},
		"two values":          {config: shell(`printf '{} {}'`, nil), message: "line 1, column 4"},
		"cut":                 {config: shell(`printf '{"a":'`, nil), message: "ends too early"},
		"bad bytes":           {config: shell(`printf '"ab\377"'`, nil), message: "line 1, column 4"},
		"exit code":           {config: shell(`echo 'disk full' >&2; exit 7`, nil), message: "exit status 7: disk full", retryable: true},
		"exit code with data": {config: shell(`echo '{"ok":true}'; exit 1`, nil), message: "exit status 1", retryable: true},
		"a signal":            {config: shell(`kill -9 $$`, nil), message: "killed", retryable: true},
		"no such command":     {config: map[string]any{"command": "no-such-command-here"}, message: "is not there"},
		"not executable":      {config: map[string]any{"command": "/dev/null"}, message: "may not be executed"},
		"unread input":        {config: shell(`exec 0<&-; echo 1`, nil), ok: true, data: "1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := do(t, newSkill(t, test.config), `{"a":"<&>"}`)
			if result.OK != test.ok || string(result.Data) != test.data || !strings.Contains(result.Error, test.message) {
				t.Errorf("ok %t, data %s, error %q", result.OK, result.Data, result.Error)
			}
			if !result.OK && (result.Retryable == nil || *result.Retryable) != test.retryable {
				t.Errorf("retryable is %v, want %t", result.Retryable, test.retryable)
			}
		})
	}
}

func TestOnlyTheEndOfComplaintsIsKept(t *testing.T) {
	t.Parallel()
	result := do(t, newSkill(t, shell(`yes complaint | head -100000 >&2; echo last words >&2; exit 1`, nil)), `{}`)
	if len(result.Error) > 1700 || !strings.HasSuffix(result.Error, "last words") {
		t.Errorf("%d bytes: …%q", len(result.Error), result.Error[max(0, len(result.Error)-40):])
	}
}

func TestACommandKnowsNothingButWhatIsListed(t *testing.T) {
	t.Setenv("RONDO_TEST_PASSED", "passed on")
	t.Setenv("RONDO_TEST_KEPT", skilltest.Secret)
	s := newSkill(t, shell(`env; pwd`, map[string]any{"output": "text", "env": []string{"RONDO_TEST_PASSED", "SET=here", "RONDO_TEST_ABSENT"}}))
	var printed string
	if err := json.Unmarshal(do(t, s, `{}`).Data, &printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RONDO_TEST_PASSED=passed on", "SET=here", "HOME=", "RONDO_WORK_DIR=", "PATH="} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing in\n%s", want, printed)
		}
	}
	if strings.Contains(printed, skilltest.Secret) || strings.Contains(printed, "RONDO_TEST_ABSENT") {
		t.Errorf("the command knows too much:\n%s", printed)
	}
}

func TestArtifactsAreFilesOfTheFolderAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSkill(t, shell(`mkdir out; echo a > out/b.css; echo a > out/a.html; ln -s /etc/passwd out/link; ln -s . out/self; mkfifo out/pipe; mkdir out/folder; echo x > other; echo '{"ok":true,"artifacts":[{"type":"text/uri","uri":"https://example.org/x"}]}'`,
		map[string]any{"artifacts": []any{map[string]string{"path": "out/*"}, map[string]string{"path": "out/*.css", "type": "x/y"}, map[string]any{"path": "absent", "optional": true}}}))
	result := do(t, s, `{}`)
	var names []string
	for _, artifact := range result.Artifacts {
		names = append(names, artifact.Name+" "+artifact.Type+artifact.URI)
	}
	got := strings.Join(names, ", ")
	if want := "text/urihttps://example.org/x, out/a.html text/html; charset=utf-8, out/b.css text/css; charset=utf-8"; strings.TrimSpace(got) != want {
		t.Errorf("artifacts are %s (%s)", got, result.Error)
	}
}

func TestAPatternThatNoFileHasIsAFailure(t *testing.T) {
	t.Parallel()
	for path, named := range map[string]bool{"out/*.png": true, "out/folder": true, "out/*.css": false, "out/b.css": false} {
		s := newSkill(t, shell(`mkdir -p out/folder; echo a > out/b.css`, map[string]any{"artifacts": []any{map[string]any{"path": "out/b.*"}, map[string]any{"path": "out/f*", "optional": true}, map[string]string{"path": path}}}))
		result := do(t, s, `{}`)
		if result.OK == named || named && (!strings.Contains(result.Error, strconv.Quote(path)) || *result.Retryable) {
			t.Errorf("%s: %+v", path, result)
		}
	}
}

func TestReadOnlyFoldersAreRemovedToo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	raw := json.RawMessage(`{"command":"sh","args":["-c","mkdir -p a/b; touch a/b/c; chmod 500 a/b a"]}`)
	s, err := exec.New(raw, exec.Options{Allow: true, TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, `{}`)
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("%d folders are left", len(left))
	}
}

func TestOutputThatAnotherProcessHoldsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not there")
	}
	// It leaves the group: it cannot be held, but must not hold the step either.
	result := do(t, newSkill(t, shell(`echo 1; setsid sleep 5 & `, nil)), `{}`)
	if !result.OK || string(result.Data) != "1" {
		t.Errorf("%+v", result)
	}
}

func TestAFolderMustBeAllowed(t *testing.T) {
	t.Parallel()
	allowed := t.TempDir()
	inside := filepath.Join(allowed, "inside")
	outside := t.TempDir()
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(allowed, "link")); err != nil {
		t.Fatal(err)
	}
	opts := exec.Options{Allow: true, Dirs: []string{allowed}}
	for dir, ok := range map[string]bool{
		allowed: true, inside: true, outside: false, filepath.Join(allowed, "link"): false, filepath.Join(allowed, ".."): false, "relative": false, filepath.Join(allowed, "absent"): false,
	} {
		raw, _ := json.Marshal(map[string]any{"command": "pwd", "output": "text", "dir": dir})
		s, err := exec.New(raw, opts)
		if (err == nil) != ok || err != nil && rondo.CodeOf(err) != rondo.CodeForbidden {
			t.Errorf("%s: %v, want allowed = %t", dir, err, ok)
		}
		if err == nil {
			if result := do(t, s, `{}`); !strings.Contains(string(result.Data), filepath.Base(dir)) {
				t.Errorf("it runs in %s, want %s", result.Data, dir)
			}
		}
	}
}

func TestCommandsAreOffUnlessAllowed(t *testing.T) {
	t.Parallel()
	_, err := exec.New(json.RawMessage(`{"command":"true"}`), exec.Options{})
	told, ok := err.(*rondo.Error)
	if !ok || told.Code != rondo.CodeForbidden || !strings.Contains(told.Hint, "--allow-exec") {
		t.Errorf("%v, want forbidden, with the way out", err)
	}
}

func TestConfigurationsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for raw, pointer := range map[string]string{
		``: "/command", `{}`: "/command", `{"command":""}`: "/command", `{"command":5}`: "/command", `{"command":"a","arg":[]}`: "/arg",
		`{"command":"a","args":"b"}`: "/args", `{"command":"a","args":[1]}`: "/args/0", `{"command":"a","env":["1x"]}`: "/env",
		`{"command":"a","output":"xml"}`: "/output", `{"command":"a","artifacts":[{"path":"../x"}]}`: "/artifacts",
		`{"command":"a","artifacts":[{"path":"/x"}]}`: "/artifacts", `{"command":"a","artifacts":[{"path":"[","type":"x"}]}`: "/artifacts",
		`{"command":"a","artifacts":[{"glob":"x"}]}`: "/artifacts/0/glob", `{"command":"a","command":"b"}`: "/command", `{`: "", `[]`: "",
	} {
		_, err := exec.New(json.RawMessage(raw), exec.Options{Allow: true})
		told, ok := err.(*rondo.Error)
		if !ok || told.Code != rondo.CodeInvalidDef || len(told.Fields) == 0 || told.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a problem at %s", raw, err, pointer)
		}
	}
}
