package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
)

const (
	maxHeard = 8 << 10 // of standard error that is kept
	// lastWords is how long output may take to end after the process did: somebody
	// outside its group still holds it.
	lastWords = time.Second
)

// Do runs the command once.
func (s *Skill) Do(ctx context.Context, call skill.Call) (skill.Result, error) {
	if err := ctx.Err(); err != nil {
		return skill.Result{}, err
	}
	folder, remove, err := makeFolder(s.opts.TempDir)
	if err != nil {
		return skill.Result{}, &rondo.Error{Code: rondo.CodeUnavailable, Op: "make a folder for a command", Message: "there is no place for the command's files", Err: err}
	}
	defer remove()
	if len(call.Input) == 0 {
		call.Input = json.RawMessage("{}")
	}
	said, err := s.stdin(call)
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, err.Error(), false), nil
	}
	failure, failed := s.lay(ctx, call, folder)
	if ctx.Err() != nil {
		return skill.Result{}, ctx.Err()
	}
	if failed {
		return failure, nil
	}
	heard, err := s.run(ctx, folder, said)
	if err != nil {
		return skill.Result{}, err
	}
	if failure, failed := s.failed(heard); failed {
		return failure, nil
	}
	result := s.read(heard.stdout)
	if !result.OK || len(s.cfg.Artifacts) == 0 {
		return result, nil
	}
	return s.gather(ctx, call, folder, result)
}

// outcome is what came of a command.
type outcome struct {
	stdout []byte
	over   bool // it printed too much
	stderr []byte
	err    error // it did not start, or did not end with 0
}

// run starts the command and waits until all of it is gone. Its error is ctx's own,
// or one of the machine.
func (s *Skill) run(ctx context.Context, folder string, input []byte) (*outcome, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(running, s.cfg.Command, s.cfg.Args...) //nolint:gosec // running what the configuration names is the purpose, and off unless allowed
	cmd.Dir = folder
	if s.cfg.Dir != "" {
		cmd.Dir = s.cfg.Dir
	}
	cmd.Env = s.environment(folder)
	ownGroup(cmd)
	// On Linux the command dies with the thread that started it: this one is kept until
	// the command is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	pipes, err := connect(cmd)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Op: "run a command", Message: "no pipes can be opened", Err: err}
	}
	defer pipes.close()
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &outcome{err: err}, nil
	}
	pipes.closeTheirs()
	heard := &outcome{}
	var talking sync.WaitGroup
	talking.Go(func() {
		_, _ = pipes.in.ours.Write(input) // a command need not read it
		_ = pipes.in.ours.Close()
	})
	talking.Go(func() {
		heard.stdout, heard.over, _ = answer.Read(pipes.out.ours, s.opts.Limits.Output)
		if heard.over {
			stop()
		}
	})
	talking.Go(func() { heard.stderr = tail(pipes.err.ours, maxHeard) })
	heard.err = cmd.Wait()
	_ = killGroup(cmd.Process) // what it left running; no process of its group, no harm
	pipes.expire(lastWords)
	talking.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return heard, nil
}

// failed is the result of a command that did not do its work.
func (s *Skill) failed(heard *outcome) (skill.Result, bool) {
	exit, exited := errors.AsType[*exec.ExitError](heard.err)
	switch {
	case heard.over:
		return answer.TooLarge("standard output", s.opts.Limits.Output), true
	case heard.err == nil:
		return skill.Result{}, false
	case exited:
		message := "the command ended with " + exit.String()
		if complaint := lastLines(heard.stderr, len(heard.stderr) == maxHeard); complaint != "" {
			message += ": " + complaint
		}
		return skill.Fail(rondo.CodeSkillError, message, true), true
	case errors.Is(heard.err, exec.ErrNotFound) || errors.Is(heard.err, fs.ErrNotExist):
		return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the command %q is not there: install it where Rondo runs, or correct command", s.cfg.Command), false), true
	case errors.Is(heard.err, fs.ErrPermission):
		return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the command %q may not be executed", s.cfg.Command), false), true
	default:
		return skill.Fail(rondo.CodeSkillError, "the command could not be started", true), true
	}
}

func (s *Skill) read(stdout []byte) skill.Result {
	if s.cfg.Output == "text" {
		return answer.Text("standard output", stdout)
	}
	return answer.Parse("standard output", stdout, false)
}

// tail keeps the end of what is read.
func tail(r io.Reader, keep int) []byte {
	var kept []byte
	buffer := make([]byte, 4<<10)
	for {
		n, err := r.Read(buffer)
		kept = append(kept, buffer[:n]...)
		if len(kept) > keep {
			kept = append(kept[:0], kept[len(kept)-keep:]...)
		}
		if err != nil {
			return kept
		}
	}
}

// removeAll removes a folder even when the command made parts of it read-only.
func removeAll(folder string) {
	if os.RemoveAll(folder) == nil {
		return
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return
	}
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	_ = root.Close()
	_ = os.RemoveAll(folder)
}
