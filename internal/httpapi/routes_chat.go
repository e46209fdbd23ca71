package httpapi

import "net/http"

const (
	nounConversation = "conversation"
	nounTurn         = "turn"
)

// The statuses of a turn beyond those that every route can have.
var (
	turnErrors = []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadGateway, http.StatusGatewayTimeout}
	endErrors  = []int{http.StatusConflict, http.StatusUnprocessableEntity}
)

func chatRoutes() []Route {
	rows := []Route{
		{ID: "start-chat", Method: post, Path: "/api/chat/start", Summary: "Open a conversation and read the agent's greeting", Body: BodyOptional, Keyed: true, Errors: turnErrors},
		{ID: "send-chat", Method: post, Path: "/api/chat/send", Summary: "Say something: one turn, which commits whole or never happened", Body: BodyRequired, Keyed: true, Errors: turnErrors},
		{ID: "submit-card", Method: post, Path: "/api/chat/card-action", Summary: "Submit a card that the agent sent: one turn", Body: BodyRequired, Keyed: true, Errors: turnErrors},
		{ID: "orchestrate-chat", Method: post, Path: "/api/chat/orchestrate", Summary: "Say something, in a new conversation unless one is named: one turn, with what was extracted", Body: BodyRequired, Keyed: true, Errors: turnErrors},
		{ID: "list-conversations", Method: get, Path: "/api/chat/conversations", Summary: "List your own conversations, newest first", Query: chatPaging("Conversations")},
		{ID: "get-conversation", Method: get, Path: "/api/chat/conversations/{id}", Summary: "Read one conversation: its record, the newest messages, where the workflow stands and which timers run", Noun: nounConversation, Query: chatPaging("Messages")},
		{ID: "delete-conversation", Method: del, Path: "/api/chat/conversations/{id}", Summary: "Erase a conversation with everything about it", Noun: nounConversation, Success: http.StatusNoContent, Errors: conflict},
		{ID: "list-turns", Method: get, Path: "/api/chat/conversations/{id}/turns", Summary: "List the decision record of every turn, oldest first: why it moved, or did not", Noun: nounConversation, Query: chatPaging("Turns")},
		{ID: "get-turn", Method: get, Path: "/api/chat/conversations/{id}/turns/{number}", Summary: "Read what a turn was answered with, byte for byte", Noun: nounTurn},
		{ID: "end-conversation", Method: post, Path: "/api/chat/conversations/{id}/end", Summary: "End a conversation: no turn is taken any more", Noun: nounConversation, Body: BodyOptional, Keyed: true, Errors: endErrors},
		{ID: "replay-conversation", Method: post, Path: "/api/chat/conversations/{id}/replay", Summary: "Take the recorded turns through another definition, without the agent, and say where the states differ", Noun: nounConversation, Body: BodyRequired, MaxBody: maxDefinitionBody, Errors: publishRules},
	}
	for i := range rows {
		rows[i].Tag, rows[i].Chat = "conversations", true
	}
	return rows
}

func chatPaging(what string) []Param { return camelPaging(what) }

// camelPaging are the parameters of a list whose names are camelCase.
func camelPaging(what string) []Param {
	return []Param{
		{Name: "limit", Doc: what + " per page, 1 to 200. Default 50", Format: "integer"},
		{Name: "cursor", Doc: "nextCursor of the page before", Format: "cursor"},
	}
}
