// Package policy has no code of its own: its tests hold the rules of this
// repository that a compiler does not know and nobody should have to remember.
//
//  1. Imports go one way: a table says what each package may import, and a
//     package without a row fails.
//  2. The pure packages stay pure: no I/O, clock, randomness, logger or goroutine.
//  3. Every package has exactly one package comment.
//  4. No text speaks of one person's machine or of where packages are fetched.
package policy
