// Package doctest holds tests that keep the documentation true: commands run,
// answers are as shown, definitions validate, links lead somewhere, and lists of
// commands, routes, codes and metrics are complete.
//
// # Marks
//
// What follows the language of a fenced block says what the block is for:
//
//	```sh run       runs, in order, in one shell per document, and must succeed
//	```sh fails     runs and must fail
//	```json out     what the block before it prints; white space does not count,
//	```text out     and … stands for anything
//	```go FILE      an excerpt of FILE, word for word
//
// Blocks run in a folder of their own that holds a copy of examples, against a
// `rondo dev` without demo cases. 127.0.0.1:3006 becomes its address,
// `go run ./cmd/rondo` and `rondo` become the program of this tree, and curl
// fails on statuses of 400 and above. Other marks, and none, are for readers.
package doctest
