// Package instrument writes a package's sources anew, so that they run under the scheduler of
// package linearizability: as an overlay of go build, which leaves the sources themselves
// alone.
//
// It goes by types, not by names. What is of package sync or sync/atomic becomes what is of the
// same name in package points; calls of interfaces and of functions of the program, and reads and
// writes of memory that threads can share, are reported to it. Texts are inserted in the
// lines as they are, so that positions stay those of the source. What it has no counterpart
// for (a channel, a go statement, sync.Cond) is an error: no point can be missed in silence.
//
//	source.go    reads and type-checks the package
//	walk.go      finds what is to be reported
//	memory.go    which expressions are accesses of shared memory
//	mutant.go    mutants, which are built in and chosen at run time
//	overlay.go   the files of the overlay
package instrument
