package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rondo-engine/rondo"
)

// invalidError says that what was checked is wrong; the findings are printed
// already.
type invalidError struct{ summary string }

func (e invalidError) Error() string { return e.summary }

// usageError says that the command line is wrong, which came out only when it was
// carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// asked makes the refusal of a question one of the command line that asked it.
func asked(err error) error {
	if rondo.CodeOf(err) == rondo.CodeInvalid {
		return usageError{err}
	}
	return err
}

// exitCode is what the process ends with after an error.
func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[invalidError](err); ok || rondo.CodeOf(err) == rondo.CodeInvalidDef {
		return exitInvalid
	}
	return exitFailure
}

// report prints what went wrong in one line and what to do in the next.
func report(stderr io.Writer, err error) int {
	e, ok := errors.AsType[*rondo.Error](err)
	if ok && onlyFrame(e) {
		for _, f := range e.Fields {
			_, _ = fmt.Fprintln(stderr, "rondo:", ofAPI.Replace(finding(f)))
		}
		return exitCode(err)
	}
	message := err.Error()
	if ok && ofCall.MatchString(e.Op) { // it is of no use to who typed a command
		message = strings.Replace(message, e.Op+": ", "", 1)
	}
	_, _ = fmt.Fprintln(stderr, "rondo:", ofAPI.Replace(oneLine(message)))
	for ; e != nil; e, _ = errors.AsType[*rondo.Error](e.Err) {
		for _, f := range e.Fields {
			if f.Message == e.Message { // the only one, said already
				continue
			}
			_, _ = fmt.Fprintln(stderr, "      ", strings.TrimSpace(f.Code+" "+finding(f)))
		}
		if e.Hint != "" {
			_, _ = fmt.Fprintln(stderr, "      ", ofAPI.Replace(e.Hint))
			break
		}
	}
	return exitCode(err)
}

// ofCall is how an error begins that tells of a call of the API.
var ofCall = regexp.MustCompile(`^[A-Z]+ /`)

// onlyFrame reports whether an error says nothing beyond the fields it lists: it
// speaks of queries and bodies, which nobody wrote here.
func onlyFrame(e *rondo.Error) bool {
	return len(e.Fields) > 0 && e.Hint == "correct what errors lists"
}

// finding says what is wrong at one place. Places in queries, filters and bodies
// are named as the flags are that put something there.
func finding(f rondo.FieldError) string {
	place, message := f.Pointer, f.Message
	step, ofStep := strings.CutPrefix(place, "/stepModes/")
	switch {
	case strings.HasPrefix(place, "/params/"):
		place = "--params"
	case ofStep:
		place = "--step-mode " + step
	case strings.HasPrefix(place, "/changedSteps/"):
		place = "--changed-step"
	case strings.HasPrefix(place, "/changeRequest/payload"):
		place = strings.Replace(place, "/changeRequest/payload", "--change-input ", 1)
	case strings.HasPrefix(place, "/changeRequest"):
		place = "--change"
	case strings.HasPrefix(place, "/triggerPayload"):
		place = strings.TrimSpace(strings.Replace(place, "/triggerPayload", "--input ", 1))
	default:
		name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(place, "query"), "/filter"), "/")
		if flag, ok := flagOf[name]; ok {
			place, message = flag, strings.ReplaceAll(message, name, flag)
		}
	}
	if place == "" || strings.HasPrefix(message, place) {
		return message
	}
	return place + ": " + message
}

// flagOf is how the command line calls what the API calls otherwise.
var flagOf = map[string]string{
	"case_id": "--case", "product_id": "--product", "definition_id": "--definition", "reason_code": "--code", "step_id": "--step",
	"event_type": "--type", "older_than": "--older-than", "olderThan": "--older-than", "younger_than": "--younger-than", "started_from": "--started-from",
	"started_to": "--started-to", "to_definition_id": "--to", "step_map": "--map", "input_override": "--input", "output": "--result",
	"org_id": "--org", "status": "--status", "mode": "--mode", "tag": "--tag", "where": "--where", "kind": "--kind", "outcome": "--outcome",
	"stream": "--stream", "cursor": "--cursor", "limit": "--limit", "reason": "--reason", "note": "--note",
}

// ofAPI replaces words of the API that hints use and commands do not.
var ofAPI = strings.NewReplacer("to_definition_id", "--to", "step_map", "--map", "input_override", "--input", "changeRequest, or changedSteps, or definition latest", "--change, or --changed-step, or --definition latest",
	"leave out ifLatest", "leave out --if-latest", "see GET /workflows", "see rondo workflows list", "GET /workflows/", "rondo workflows show ")

// oneLine joins the lines of a message, each once: drivers like to write several.
func oneLine(message string) string {
	var parts []string
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}

// reportUsage says what is wrong with a command line and where to read on.
func reportUsage(stderr io.Writer, err error) int {
	help := "rondo --help"
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil {
		if node := e.Context.Selected(); node != nil {
			help = "rondo " + node.Path() + " --help"
		}
	}
	_, _ = fmt.Fprintf(stderr, "rondo: %v\nTry: %s\n", err, help)
	return exitUsage
}
