package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// chatsCommand is about conversations that are, or were, held.
type chatsCommand struct {
	List   chatsList   `cmd:"" help:"List your conversations, newest first."`
	Show   chatsShow   `cmd:"" help:"Show a conversation: where it stands and what was said."`
	Turns  chatsTurns  `cmd:"" help:"List the turns of a conversation: why it moved, or did not."`
	Turn   chatsTurn   `cmd:"" help:"Show one turn in full: what was said, found, asked and decided."`
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
	return printPage(s, page.Items, page.NextCursor, heading, row)
}

type chatsList struct {
	chatPrinting
	paged
}

// Run lists conversations.
func (c chatsList) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.ConversationsPath, Query: c.query()}, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"ID", "DEFINITION", "STATUS", "CREATED", "UPDATED", "CASE", "TITLE"}, func(found rondo.Conversation) []string {
			return []string{
				found.ExternalID, definitionWord(found.Definition), string(found.Status), moment(found.CreatedAt), moment(found.UpdatedAt),
				orDash(plain(caseOf(found))), orDash(plain(titleOf(found))),
			}
		})
	})
}

func definitionWord(ref rondo.DefinitionRef) string {
	name := ref.Name
	if name == "" { // a shipped one, or one that was recorded without
		name = ref.ID
	}
	if ref.Version == 0 {
		return name
	}
	return fmt.Sprintf("%s, version %d", name, ref.Version)
}

// caseOf is the case that a conversation was opened for; "" = none.
func caseOf(c rondo.Conversation) string {
	if c.Case == nil {
		return ""
	}
	return c.Case.CaseID
}

// titleOf is what the case calls the conversation; "" = nothing.
func titleOf(c rondo.Conversation) string {
	var metadata struct {
		Title string `json:"title"`
	}
	_ = json.Unmarshal(c.Metadata, &metadata) // metadata of another shape has no title
	return metadata.Title
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
		err = details(s.out, "Conversation", found.ExternalID, "Title", plain(titleOf(found.Conversation)), "Case", plain(caseOf(found.Conversation)), "Definition", definitionWord(found.Definition), "Status", string(found.Status),
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
