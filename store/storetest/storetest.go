// Package storetest is the one conformance suite of package store. Every driver
// passes it, unchanged:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Open: …, Again: …})
//	}
//
// Each test opens its own empty database, so tests may look at global things
// (the next wake-up, the backlog, the log) without seeing each other. No test
// sleeps or reads the clock: time is an argument of the port.
package storetest

import (
	"slices"
	"testing"

	"github.com/rondo-engine/rondo/store"
)

// Options say how a test wants its store opened.
type Options struct {
	// Embedded asks for a store that writes Write.Outbox to its Log.
	Embedded bool
}

// Harness is what a driver tells the suite about itself.
type Harness struct {
	// Open returns a store on an empty database of its own, not migrated yet, and
	// registers its closing with t.Cleanup.
	Open func(t *testing.T, opts Options) store.Store
	// Again returns another handle, with the same options, on the database of a
	// store that Open returned, as another process would have it. Nil when the
	// driver has no such thing: then tests use the one handle twice.
	Again func(t *testing.T, first store.Store) store.Store
}

// Run checks a driver against everything that package store promises.
func Run(t *testing.T, h Harness) {
	for _, chapter := range []struct {
		name  string
		tests []test
	}{
		{"Update", updateTests},
		{"Rules", ruleTests},
		{"Batches", loadTests},
		{"Concurrency", concurrencyTests},
		{"Timers", timerTests},
		{"Outbox", outboxTests},
		{"Log", logTests},
		{"Groups", slices.Concat(groupTests, retireTests)},
		{"Ledger", ledgerTests},
		{"Search", searchTests},
		{"Events", eventListTests},
		{"Retention", retentionTests},
		{"Tenants", tenantTests},
		{"Values", valueTests},
		{"Definitions", definitionTests},
		{"Active", activeTests},
		{"Catalogue", catalogueTests},
		{"Kinds", kindTests},
		{"DeadLetters", deadLetterTests},
		{"Jobs", jobTests},
		{"Answers", answerTests},
		{"System", systemTests},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			for _, test := range chapter.tests {
				t.Run(test.name, func(t *testing.T) { test.run(open(t, h, test.opts)) })
			}
		})
	}
}

// test is one promise, and how to see whether it is kept.
type test struct {
	name string
	opts Options
	run  func(*db)
}

var embedded = Options{Embedded: true}
