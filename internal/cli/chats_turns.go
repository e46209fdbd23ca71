package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

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

type chatsTurn struct {
	oneChat
	Number int `arg:"" help:"Number of the turn, as turns lists it."`
}

// Run shows one decision record whole.
func (c chatsTurn) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	for turn, err := range server.ChatTurns(ctx, c.ID) {
		switch {
		case err != nil:
			return err
		case turn.Number != c.Number:
		case c.Output == "json":
			return printJSON(s.out, turn)
		default:
			return printTurn(s, turn)
		}
	}
	return &rondo.Error{Code: rondo.CodeNotFound, Message: fmt.Sprintf("the conversation has no turn %d", c.Number), Hint: "rondo chats turns " + c.ID + " lists them"}
}

// printTurn tells a turn in the order in which it was decided.
func printTurn(s streams, turn rondo.TurnRecord) error {
	took := fmt.Sprintf("agent %d ms, waited %d ms for the conversation", turn.AgentLatencyMs, turn.LeaseWaitMs)
	err := details(s.out, "Turn", fmt.Sprint(turn.Number), "Kind", turn.Kind, "At", moment(turn.At), "Request", plain(turn.RequestID),
		"Definition", definitionWord(turn.Definition), "Said", plain(turn.Input.Text), "Card", plain(turn.Input.CardID),
		"Submitted", plain(string(turn.Input.Submit)), "Timer", plain(turn.Input.TimerID), "Preamble cut to", turn.Truncation,
		"Event", plain(turn.Event), "From", turn.From, "To", turn.To, "Handled", yesNo(turn.Handled), "Why", plain(why(turn)),
		"Not confirmed", plain(strings.Join(turn.Unconfirmed, ", ")), "Took", took)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		heading    string
		considered []rondo.Candidate
	}{
		{"Looked for data in", turn.Extraction}, {"Signal rules", turn.Signals}, {"Transitions", turn.Transitions},
	} {
		if err := printCandidates(s, part.heading, part.considered); err != nil {
			return err
		}
	}
	if len(turn.Provenance) > 0 {
		rows := [][]string{{"COLLECTED", "VALUE", "SOURCE", "CONFIDENCE"}}
		for _, field := range slices.Sorted(maps.Keys(turn.Provenance)) {
			from := turn.Provenance[field]
			rows = append(rows, []string{plain(field), plain(compactJSON(from.Value)), from.Source, orDash(from.Confidence)})
		}
		_, _ = fmt.Fprintln(s.out)
		if err := table(s.out, rows); err != nil {
			return err
		}
	}
	for _, raised := range turn.Raised {
		_, _ = fmt.Fprintf(s.out, "\nRaised %s for the case %s: %s\n", plain(raised.Type), plain(raised.CaseID), plain(compactJSON(raised.Payload)))
	}
	var answered rondo.WorkflowResponse
	if json.Unmarshal(turn.Response, &answered) == nil && len(answered.Messages) > 0 { // a timer answers nobody
		_, _ = fmt.Fprintln(s.out)
		(&chatTalk{streams: s}).show(answered.Messages, nil)
	}
	return nil
}

func printCandidates(s streams, heading string, considered []rondo.Candidate) error {
	if len(considered) == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(s.out, "\n%s\n", heading)
	var rows [][]string
	for _, c := range considered {
		rows = append(rows, []string{"  " + plain(c.Name), c.Result, plain(c.Reason)})
		if len(c.Trace) > 0 && string(c.Trace) != "null" {
			rows = append(rows, []string{"", "", plain(compactJSON(c.Trace))})
		}
	}
	return table(s.out, rows)
}

// compactJSON is JSON without what is between its parts.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// why says in words what decided a turn: the rule that held, or that none did, and
// then the transitions that were taken, or why none was.
func why(turn rondo.TurnRecord) string {
	var parts []string
	if turn.Kind == rondo.TurnByText || turn.Kind == rondo.TurnByCard {
		parts = append(parts, signalled(turn))
	}
	parts = append(parts, moved(turn)...)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func signalled(turn rondo.TurnRecord) string {
	for _, signal := range turn.Signals {
		switch signal.Result {
		case "held":
			return signal.Name
		case "refused":
			return signal.Reason
		}
	}
	if turn.Handled && turn.Event == "HANDOFF" {
		return "the agent handed over"
	}
	return "no signal held"
}

// guardFailed is how records tell a guard that was false.
const guardFailed = "the guard does not hold: "

// moved tells the transitions: every one that was taken, the one that moved the
// step first; else what was in the way of those that were asked.
func moved(turn rondo.TurnRecord) []string {
	var chosen []rondo.Candidate
	var refused []string
	for _, asked := range turn.Transitions {
		guard, failed := strings.CutPrefix(asked.Reason, guardFailed)
		switch {
		case asked.Result == "chosen":
			chosen = append(chosen, asked)
		case failed:
			refused = append(refused, fmt.Sprintf("%s: guard %s was false", asked.Name, guard))
		default:
			refused = append(refused, strings.TrimSpace(asked.Name+" "+asked.Result+" "+asked.Reason))
		}
	}
	if len(chosen) == 0 && len(refused) == 0 && turn.Event != "" && !turn.Handled {
		return []string{fmt.Sprintf("%s: no transition for it in %s", turn.Event, turn.From)}
	}
	if len(chosen) == 0 {
		return refused
	}
	slices.SortStableFunc(chosen, func(a, b rondo.Candidate) int { return reach(a, turn) - reach(b, turn) })
	var out []string
	for _, c := range chosen {
		out = append(out, strings.TrimSpace(c.Name+" chosen "+c.Reason))
	}
	return out
}

// reach ranks a transition that was taken: one to the state that is the turn's new
// step, then those that lead anywhere, in the order of the machine's regions.
func reach(c rondo.Candidate, turn rondo.TurnRecord) int {
	_, targets, leads := strings.Cut(c.Name, " → ")
	if !leads {
		return 2
	}
	for target := range strings.SplitSeq(targets, ", ") {
		if turn.From != turn.To && target[strings.LastIndex(target, ".")+1:] == turn.To {
			return 0
		}
	}
	return 1
}
