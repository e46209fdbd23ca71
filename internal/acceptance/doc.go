// Package acceptance has no code of its own: its tests show, over Rondo's public
// face, that cases do what users were promised, on every pair of store and bus.
//
//   - The scenarios (one function each, run on every pair) drive the real engine
//     behind its REST edge. Modules are played by the test, on the real bus, so
//     that it decides what is answered, when, how often and by whom. The clock is
//     the test's: waiting a day takes no time.
//   - Restarts cut an engine off from its store and bus at every single effect
//     of a case, and let another go on: of the shipped templates, of the examples
//     that wait in every way there is, and in the middle of a job.
//   - Streams are read over real connections that break.
//   - The crash tests run the real program in several processes, kill them as
//     kill -9 does and look at what is left.
//
// After every scenario each stored case is checked against internal/invariant.
// Tests may import anything; what needs a server asks internal/testenv for it.
package acceptance
