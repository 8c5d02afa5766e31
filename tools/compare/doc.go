// Package compare makes the requests of one recorded program of several allocators, each
// on a fake GPU of its own, and says what they hold: "gaugeblock compare".
//
//	candidate.go  what is compared, by its name on the command line
//	compare.go    one after another
//	run.go        the requests, made of any allocator
//	pytorch.go    the requests, made of the reference as whatif makes them
//	limit.go      the smallest limit
//	table.go      the results as text
//	page.go       the results as a page
package compare
