// Package broken shows that the searches of the suites find something: it
// breaks the reference on purpose, in ways in which allocators have been broken,
// and runs the search on each.
//
// A file in testdata is one way: a sentence, the area of the search that is to find
// it, how long the shortest program may be that shows it, and a piece of a file of
// alloc before and after. The piece is replaced while the command is being built
// (go build -overlay); nothing is changed on disk.
//
// The search runs one operation after the other. What only several threads at once
// can bring to light names a test of tests/linearizability instead of an area, which
// is built and started in the same way.
package broken
