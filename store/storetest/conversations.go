package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// ConversationHarness is an empty store of conversations under test, and what a
// test may do to it from outside.
type ConversationHarness struct {
	Store store.Conversations
	// Now is the time at which the test begins.
	Now func() time.Time
	// Advance lets time pass for the driver. Drivers that take the time from their
	// caller do nothing; one whose database has a clock of its own ages what it
	// stored. Nil is nothing.
	Advance func(d time.Duration)
	// Left counts what is physically stored, in whatever unit; 0 = nothing at all.
	// Nil skips the tests that ask.
	Left func() int
	// Corrupt damages the stored state of a conversation. Nil skips.
	Corrupt func(id string)
	// Older stores a conversation as earlier versions did: a state with the members
	// of rondo.WorkflowState alone (step "gather_info", collectedData {"name":"Alice"},
	// turnCount 2, status "active"), a record with an embedded history of two text
	// messages ("hello" of the user, "hi" of the assistant) and no definition. Nil
	// skips.
	Older func(id, tenant, user string)
}

// Conversations checks a driver against everything that store.Conversations
// promises. Every test opens its own empty store.
func Conversations(t *testing.T, open func(t *testing.T) ConversationHarness) {
	for _, chapter := range []struct {
		name  string
		tests []talkTest
	}{
		{"Create", talkCreateTests},
		{"Lease", talkLeaseTests},
		{"Commit", talkCommitTests},
		{"Read", talkReadTests},
		{"List", talkListTests},
		{"Expiry", slices.Concat(talkExpiryTests, talkDeleteTests)},
		{"Attention", talkAttentionTests},
		{"Keys", talkKeyTests},
		{"Load", talkLoadTests},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			for _, test := range chapter.tests {
				t.Run(test.name, func(t *testing.T) { test.run(openTalk(t, open)) })
			}
		})
	}
}

// talkTest is one promise about conversations, and how to see whether it is kept.
type talkTest struct {
	name string
	run  func(*talk)
}
