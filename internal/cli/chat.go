package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// chatServer is how commands about conversations reach a server: as the person
// whose token it is, and nobody else.
type chatServer struct {
	Server string `help:"Address of the server. Default: http://127.0.0.1:3006." aliases:"url" default:"http://127.0.0.1:3006" env:"RONDO_SERVER" placeholder:"URL"`
	Token  string `help:"Bearer token. A server of rondo dev needs none." env:"RONDO_TOKEN" placeholder:"TOKEN"`
}

func (c chatServer) client() (*client.Client, error) {
	return remote{Server: c.Server, Token: c.Token}.client()
}

type chatCommand struct {
	chatServer
	Definition   string `help:"Name of the conversation definition. Default: that of the server." placeholder:"NAME"`
	Conversation string `help:"Go on with this conversation instead of starting one." placeholder:"ID"`
}

// Validate refuses to start a conversation and to go on with one at once.
func (c chatCommand) Validate() error {
	return firstWrong(rule{c.Definition == "" || c.Conversation == "", "--definition is for new conversations: leave it or --conversation out"})
}

// Run talks until the input or the conversation ends. On a terminal it prompts,
// shows text as it comes and survives refusals; otherwise every line is a turn,
// and the first one that fails ends it.
func (c chatCommand) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	talk := &chatTalk{streams: s, server: server, terminal: onTerminal(os.Stdin) && onTerminal(s.out), lines: readLines(os.Stdin)}
	if c.Conversation != "" {
		err = talk.goOn(ctx, c.Conversation)
	} else {
		err = talk.start(ctx, c.Definition)
	}
	if err == nil {
		err = talk.run(ctx)
	}
	if talk.id != "" && !talk.ended {
		_, _ = fmt.Fprintf(s.err, "rondo: to go on: rondo chat --conversation %s%s\n", talk.id, c.where())
	}
	if err == nil && talk.ended && !talk.terminal {
		talk.leftOver(ctx)
	}
	return err
}

// defaultServer is the server that commands about conversations speak to unless
// they are told another.
const defaultServer = "http://127.0.0.1:3006"

// where is what a command line must add to reach the same server; the token is
// never written out.
func (c chatServer) where() string {
	if c.Server == defaultServer {
		return ""
	}
	return " --server " + c.Server
}

// leftOver says how many lines of a script came after the end of the conversation:
// nobody heard them.
func (t *chatTalk) leftOver(ctx context.Context) {
	unsent := 0
	for {
		line, ok := t.read(ctx, "")
		if !ok {
			break
		}
		if strings.TrimSpace(line) != "" {
			unsent++
		}
	}
	switch unsent {
	case 0:
	case 1:
		_, _ = fmt.Fprintln(t.err, "rondo: the conversation is completed; 1 line was not sent")
	default:
		_, _ = fmt.Fprintf(t.err, "rondo: the conversation is completed; %d lines were not sent\n", unsent)
	}
}

// onTerminal reports whether a person is at the other end of a stream.
func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// readLines gives the lines of the input one by one and closes at its end.
// Nothing can interrupt a read of a terminal, so the reader ends with the input
// or with the program.
func readLines(input io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// chatTalk is one conversation on a terminal or in a script.
type chatTalk struct {
	streams
	server   *client.Client
	terminal bool
	lines    <-chan string

	id      string
	ended   bool
	options []chatOption // what numbers stand for
}

func (t *chatTalk) start(ctx context.Context, definition string) error {
	started, err := t.server.StartChat(ctx, definition)
	if err != nil {
		return err
	}
	t.id = started.ConversationID
	if t.terminal {
		_, _ = fmt.Fprintf(t.out, "Conversation %s. Ctrl-D ends it here; it can be gone on with later.\n\n", t.id)
	}
	t.show(started.Messages, nil)
	t.stand(started.WorkflowState, nil)
	return nil
}

// recalled is how many messages are shown of a conversation that goes on.
const recalled = "10"

func (t *chatTalk) goOn(ctx context.Context, id string) error {
	found, err := t.server.Chat(ctx, id, url.Values{"limit": {recalled}})
	if err != nil {
		return err
	}
	t.id = id
	t.show(found.History, nil)
	t.stand(found.WorkflowState, nil)
	t.ended = t.ended || found.Status != rondo.ConversationActive
	return nil
}

// run makes a turn of every line until one of the two ends.
func (t *chatTalk) run(ctx context.Context) error {
	for !t.ended {
		line, ok := t.read(ctx, "> ")
		if !ok {
			return nil
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		err := t.say(ctx, line)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the user left in the middle of a turn
		case rondo.CodeOf(err) == rondo.CodeWorkflowCompleted:
			t.ended = true
			return err
		case !t.terminal:
			return err
		default:
			report(t.err, err)
		}
	}
	return nil
}

// read waits for a line; false means that the input, or the patience of who
// started this, has ended.
func (t *chatTalk) read(ctx context.Context, prompt string) (string, bool) {
	if t.terminal {
		_, _ = fmt.Fprint(t.out, prompt)
	}
	select {
	case line, ok := <-t.lines:
		if !ok && t.terminal {
			_, _ = fmt.Fprintln(t.out)
		}
		return strings.TrimSuffix(line, "\r"), ok
	case <-ctx.Done():
		return "", false
	}
}

// errLeft says that the input ended in the middle of a card.
var errLeft = errors.New("the input ended before the card was filled in")

// say makes one turn of a line: what a number stands for, or the text.
func (t *chatTalk) say(ctx context.Context, line string) error {
	var streamed streamedText
	var options []client.ChatOption
	if t.terminal {
		options = append(options, client.WithStream(func(e client.ChatEvent) { t.stream(&streamed, e) }))
	}
	turn, err := t.turn(ctx, line, options)
	if streamed.open {
		_, _ = fmt.Fprintln(t.out)
	}
	if err != nil {
		return err
	}
	t.show(turn.Messages, &streamed)
	t.stand(turn.WorkflowState, &turn.Progress)
	return nil
}

func (t *chatTalk) turn(ctx context.Context, line string, options []client.ChatOption) (client.ChatTurn, error) {
	chosen, ok := pick(t.options, line)
	if !ok {
		return t.server.SendChat(ctx, t.id, line, options...)
	}
	if chosen.card == nil {
		return t.server.SendChat(ctx, t.id, chosen.title, options...)
	}
	data, err := t.fill(ctx, *chosen.card)
	if err != nil {
		return client.ChatTurn{}, err
	}
	return t.server.SubmitCard(ctx, client.CardAction{ConversationID: t.id, CardID: chosen.card.id, UserSummary: chosen.title, SubmitData: data}, options...)
}
