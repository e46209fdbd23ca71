// Package rondo holds the nouns of the orchestrator: definitions, case
// instances, step attempts, events, interventions, principals and the one error
// type that every layer speaks.
//
// It imports the standard library only, does no I/O, and is imported by every
// other package. Values here are plain data: whoever holds one owns it, and
// nothing in this package starts a goroutine or reads a clock.
package rondo
