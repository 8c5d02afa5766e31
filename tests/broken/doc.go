// Package broken shows that the search of tests/conformance finds something: it
// breaks the reference on purpose, in ways in which allocators have been broken,
// and runs the search on each.
//
// A file in testdata is one way: a sentence, the area of the search that is to find
// it, how long the shortest program may be that shows it, and a piece of a file of
// alloc before and after. The piece is replaced while the command is being built
// (go build -overlay); nothing is changed on disk.
//
// What only several goroutines at once can bring to light is not here: the search
// runs one operation after the other (see tests/linearizability).
package broken
