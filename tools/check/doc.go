// Package check checks allocators by their logs: what they allocated and freed, what
// they asked of the driver, and what work the program gave to the device meanwhile. The
// log may come from any language. What happened is done again on the fake device, which
// finds work on memory that others' work may still use.
//
//	source.go      a log, in either of two forms
//	csv.go         lines of comma-separated values, as RMM's logger writes them
//	csv_actions.go what the lines say
//
//	check.go       one operation after the other
//	memory.go      what is allocated, and what was freed
//	driver.go      the driver's part, as it was recorded
//	work.go        the program's part
//	lockstep.go    the reference doing the same, on request
//
//	result.go      what was found
//
// tools/check/README.md is for those who write such logs.
package check
