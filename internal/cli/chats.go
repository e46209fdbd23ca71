package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// chatsCommand is about conversations that are, or were, held.
type chatsCommand struct {
	List   chatsList   `cmd:"" help:"List your conversations, newest first."`
	Show   chatsShow   `cmd:"" help:"Show a conversation: where it stands and what was said."`
	Turns  chatsTurns  `cmd:"" help:"List the turns of a conversation: why it moved, or did not."`
	End    chatsEnd    `cmd:"" help:"End a conversation."`
	Delete chatsDelete `cmd:"" help:"Erase a conversation with everything about it."`
	Replay chatsReplay `cmd:"" help:"Take the recorded turns through another definition and say where they part."`
}

// chatPrinting is how these commands reach a server and print its answers.
type chatPrinting struct {
	chatServer
	Output string `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
}

// fetch sends a call and prints its answer: with show, or as JSON.
func (c chatPrinting) fetch(ctx context.Context, s streams, call client.Call, show func(json.RawMessage) error) error {
	call.Global = true
	return remote{Server: c.Server, Token: c.Token, Output: c.Output}.fetch(ctx, s, call, show)
}

// chatItems prints a list of the chat API in columns.
func chatItems[T any](s streams, answer json.RawMessage, heading []string, row func(T) []string) error {
	var page client.ChatPage[T]
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	rows := [][]string{heading}
	for _, item := range page.Items {
		rows = append(rows, row(item))
	}
	if err := table(s.out, rows); err != nil || page.NextCursor == nil {
		return err
	}
	_, err := fmt.Fprintf(s.err, "rondo: there are more: --limit %d, or --cursor %s\n", maxLimit, *page.NextCursor)
	return err
}

type chatsList struct {
	chatPrinting
	paged
}

// Run lists conversations.
func (c chatsList) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.ConversationsPath, Query: c.query()}, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"ID", "DEFINITION", "STATUS", "CREATED", "UPDATED"}, func(found rondo.Conversation) []string {
			return []string{found.ExternalID, definitionWord(found.Definition), string(found.Status), moment(found.CreatedAt), moment(found.UpdatedAt)}
		})
	})
}

func definitionWord(ref rondo.DefinitionRef) string {
	if ref.Version == 0 { // a shipped one
		return ref.ID
	}
	return fmt.Sprintf("%s, version %d", ref.ID, ref.Version)
}

type oneChat struct {
	chatPrinting
	ID string `arg:"" help:"Id of the conversation."`
}

type chatsShow struct {
	oneChat
	paged
}

// Run shows a conversation and the newest of what was said.
func (c chatsShow) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.ConversationPath(c.ID, ""), Query: c.query()}, func(answer json.RawMessage) error {
		var found client.ConversationDetail
		if err := json.Unmarshal(answer, &found); err != nil {
			return err
		}
		state := found.WorkflowState
		collected, err := json.Marshal(state.CollectedData)
		if err != nil {
			return err
		}
		var timers []string
		for _, timer := range found.Timers {
			timers = append(timers, fmt.Sprintf("%s at %s", timer.Kind, moment(timer.DueAt)))
		}
		err = details(s.out, "Conversation", found.ExternalID, "Definition", definitionWord(found.Definition), "Status", string(found.Status),
			"Reason", found.Reason, "Step", state.Step, "Workflow", string(state.Status), "Turns", fmt.Sprint(state.TurnCount),
			"Knows", plain(string(collected)), "Timers", strings.Join(timers, ", "), "Created", moment(found.CreatedAt), "Updated", moment(found.UpdatedAt))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(s.out)
		(&chatTalk{streams: s}).show(found.History, nil)
		if found.NextCursor != nil {
			_, _ = fmt.Fprintf(s.err, "rondo: more was said before: --cursor %s\n", *found.NextCursor)
		}
		return nil
	})
}

type chatsTurns struct {
	oneChat
	paged
}

// Run lists the decision records of a conversation.
func (c chatsTurns) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.ConversationPath(c.ID, "turns"), Query: c.query()}, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"TURN", "KIND", "AT", "EVENT", "FROM", "TO", "HANDLED", "AGENT", "WHY"}, func(turn rondo.TurnRecord) []string {
			return []string{
				fmt.Sprint(turn.Number), turn.Kind, moment(turn.At), orDash(plain(turn.Event)), orDash(turn.From), orDash(turn.To),
				yesNo(turn.Handled), fmt.Sprintf("%d ms", turn.AgentLatencyMs), orDash(plain(why(turn))),
			}
		})
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// why says in a few words what decided a turn: the rule that held, and what was
// chosen or refused last.
func why(turn rondo.TurnRecord) string {
	var parts []string
	for _, signal := range turn.Signals {
		if signal.Result == "held" {
			parts = append(parts, signal.Name)
		}
	}
	for i, found := range slices.Backward(turn.Transitions) {
		if found.Result == "chosen" || i == 0 {
			parts = append(parts, strings.TrimSpace(found.Name+" "+found.Result+" "+found.Reason))
			break
		}
	}
	return strings.Join(parts, "; ")
}

type chatsEnd struct {
	oneChat
	Outcome string `help:"completed or abandoned." enum:"completed,abandoned" default:"abandoned"`
	Reason  string `help:"Why; kept with the conversation." placeholder:"TEXT"`
}

// Run ends a conversation.
func (c chatsEnd) Run(ctx context.Context, s streams) error {
	body := map[string]string{"outcome": c.Outcome}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: client.ConversationPath(c.ID, "end"), Body: body}, func(answer json.RawMessage) error {
		var ended client.EndedChat
		if err := json.Unmarshal(answer, &ended); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "%s: %s\n", ended.ConversationID, ended.Status)
		return err
	})
}

type chatsDelete struct {
	chatServer
	ID string `arg:"" help:"Id of the conversation."`
}

// Run erases a conversation.
func (c chatsDelete) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.DeleteChat(ctx, c.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: erased\n", c.ID)
	return err
}

type chatsReplay struct {
	oneChat
	Definition string `help:"Name of a published or shipped definition." placeholder:"NAME"`
	File       string `help:"File with a definition, in JSON or YAML; - = standard input." placeholder:"FILE"`
	By         string `help:"Id of a definition of the server, a draft too." name:"definition-id" placeholder:"ID"`
}

// Run replays a conversation.
func (c chatsReplay) Run(ctx context.Context, s streams) error {
	through := client.ReplayThrough{DefinitionID: c.By, Definition: c.Definition}
	given := 0
	for _, name := range []string{c.Definition, c.File, c.By} {
		if name != "" {
			given++
		}
	}
	if given != 1 {
		return errors.New("say through what: exactly one of --definition, --definition-id and --file")
	}
	if c.File != "" {
		body, err := readDocument(c.File)
		if err != nil {
			return err
		}
		through.Body = body
	}
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: client.ConversationPath(c.ID, "replay"), Body: through}, nil)
}
