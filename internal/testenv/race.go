//go:build race

package testenv

// Race says that tests and the programs they start have the race detector, which
// takes several times the memory.
const Race = true
