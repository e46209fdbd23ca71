package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

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
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: client.ConversationPath(c.ID, "replay"), Body: through}, func(answer json.RawMessage) error {
		return printReplay(s, answer)
	})
}

// replayedTurn is what is shown of a turn that was replayed.
type replayedTurn struct {
	Number  int            `json:"turnNumber"`
	Kind    string         `json:"kind"`
	Then    replayedStance `json:"then"`
	Now     replayedStance `json:"now"`
	Differs bool           `json:"differs"`
	Refused bool           `json:"refused"`
	Error   string         `json:"error"`
}

type replayedStance struct {
	Step    string `json:"step"`
	Status  string `json:"status"`
	Event   string `json:"event"`
	Handled bool   `json:"handled"`
}

func (r replayedStance) String() string {
	if r.Status == "" || r.Status == string(rondo.WorkflowActive) {
		return orDash(r.Step)
	}
	return r.Step + ", " + r.Status
}

// printReplay shows where turns led then and would lead now.
func printReplay(s streams, answer json.RawMessage) error {
	var found struct {
		Turns           []replayedTurn `json:"turns"`
		FirstDifference *int           `json:"firstDifference"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return err
	}
	rows := [][]string{{"TURN", "KIND", "THEN", "NOW", "WHY"}}
	for _, turn := range found.Turns {
		rows = append(rows, []string{fmt.Sprint(turn.Number), turn.Kind, plain(turn.Then.String()), plain(turn.Now.String()), plain(turn.why())})
	}
	if err := table(s.out, rows); err != nil {
		return err
	}
	verdict := "every turn leads to the same step and status"
	if found.FirstDifference != nil {
		verdict = fmt.Sprintf("they part at turn %d", *found.FirstDifference)
	}
	_, err := fmt.Fprintf(s.out, "\n%s\n", verdict)
	return err
}

// why says what makes a turn differ, as far as the two events tell.
func (r replayedTurn) why() string {
	told := func(r replayedStance) string {
		switch {
		case r.Event == "":
			return "no event"
		case !r.Handled:
			return r.Event + " without a transition"
		}
		return r.Event
	}
	switch then, now := told(r.Then), told(r.Now); {
	case r.Error != "":
		return r.Error
	case r.Refused:
		return "the workflow is completed before: the turn is not taken"
	case !r.Differs:
		return "the same"
	case r.Kind == rondo.TurnByStart:
		return "it begins elsewhere"
	case then == now:
		return now + " leads elsewhere"
	default:
		return "then " + then + ", now " + now
	}
}
