package chat

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// valid refuses a stored conversation with members that no version ever wrote: it
// is for people to repair or to erase, and is never begun anew. Members that are
// missing are those of older records.
func valid(stored *store.StoredConversation) error {
	what := ""
	switch stored.Conversation.Status {
	case "", rondo.ConversationActive, rondo.ConversationCompleted, rondo.ConversationAbandoned:
	default:
		what = "the status of the conversation is unknown"
	}
	switch stored.State.Status {
	case "", rondo.WorkflowActive, rondo.WorkflowCompleted, rondo.WorkflowError:
	default:
		what = "the status of the workflow is unknown"
	}
	switch {
	case stored.State.Step == "":
		what = "the workflow has no step"
	case stored.State.TurnCount < 0 || stored.State.TurnNumber < startNumber:
		what = "turns are counted below zero"
	}
	if what == "" {
		return nil
	}
	return &rondo.Error{Code: rondo.CodeStateCorrupt, Op: "checking the stored conversation", Message: what, Hint: "restore it from a backup, or delete the conversation"}
}
