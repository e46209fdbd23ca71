package exec

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// pipe has an end for the command and one for us.
type pipe struct{ ours, theirs *os.File }

// pipes are the standard streams of a command. They are files, so that waiting for
// the command is not waiting for whoever inherited its output.
type pipes struct{ in, out, err pipe }

func connect(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	var errs [3]error
	p.in.theirs, p.in.ours, errs[0] = os.Pipe()
	p.out.ours, p.out.theirs, errs[1] = os.Pipe()
	p.err.ours, p.err.theirs, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in.theirs, p.out.theirs, p.err.theirs
	return p, nil
}

// closeTheirs closes the ends that the command has now.
func (p *pipes) closeTheirs() {
	for _, each := range []pipe{p.in, p.out, p.err} {
		_ = each.theirs.Close()
	}
}

// expire ends reading and writing after a while, whoever holds the other ends.
func (p *pipes) expire(after time.Duration) {
	end := time.Now().Add(after)
	_ = p.in.ours.SetDeadline(time.Now())
	_ = p.out.ours.SetDeadline(end)
	_ = p.err.ours.SetDeadline(end)
}

// close closes every end that is open; closing twice does no harm.
func (p *pipes) close() {
	for _, each := range []pipe{p.in, p.out, p.err} {
		if each.ours != nil {
			_ = each.ours.Close()
		}
		if each.theirs != nil {
			_ = each.theirs.Close()
		}
	}
}
