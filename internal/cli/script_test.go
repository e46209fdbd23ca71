package cli_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a program and checks its exit code, which scripts of users depend
// on: exits CODE PROGRAM ARGS… . What it printed is there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// answers asks a server, waiting until it is there, and checks the status:
// answers STATUS URL [TOKEN]. The body is in the file named body.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: answers status url [token]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status, body := ask(ts, args[1], append(args[2:], "")[0], func(int, []byte) bool { return true })
	ts.Check(os.WriteFile(ts.MkAbs("body"), body, 0o600))
	if status != want {
		ts.Fatalf("status %d, want %d:\n%s", status, want, body)
	}
}

// shows waits until a page of a server has what a pattern says: shows PATTERN URL.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows pattern url")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	ask(ts, args[1], "", func(status int, body []byte) bool { return status == http.StatusOK && pattern.Match(body) })
}

// lastID keeps the first id of what was printed last in a variable: lastid NAME.
func lastID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lastid variable")
	}
	found := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing on standard output has an id")
	}
	ts.Setenv(args[0], found[1])
}

// lastChat keeps the first conversation of what was printed last in a variable:
// lastchat NAME.
func lastChat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lastchat variable")
	}
	found := regexp.MustCompile(`"externalId": "([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing on standard output is a conversation")
	}
	ts.Setenv(args[0], found[1])
}

// lastMember keeps the first value of a member of what was printed last in a
// variable: NAME VARIABLE.
func lastMember(member string) func(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(`"` + member + `": "([^"]+)"`)
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: last... variable")
		}
		found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
		if found == nil {
			ts.Fatalf("nothing on standard output has a %s", member)
		}
		ts.Setenv(args[0], found[1])
	}
}

// appears waits until a file is there, for 30 seconds at most: appears FILE.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears file")
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Since(begun) > 30*time.Second {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}

// ask gets a page again and again until it is good, for 30 seconds at most.
func ask(ts *testscript.TestScript, url, token string, good func(status int, body []byte) bool) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		status, body, err := get(ctx, url, token)
		if err == nil && good(status, body) {
			return status, body
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			ts.Fatalf("%s does not answer as it should: status %d, %v\n%s", url, status, err, body)
		}
	}
}

func get(ctx context.Context, url, token string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}
