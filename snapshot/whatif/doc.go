// Package whatif asks of a recorded run what would have become of it under other
// settings of the allocator, and under other limits: would another setting have saved
// it from running out of memory, and how sure is that?
//
// The record is a memory snapshot with its history (snapshot). From what the
// allocator did it is inferred what the program asked for (rebuild.go), backwards first
// if the beginning of the history is lost (rewind.go). The requests are then made again,
// of the reference allocator on a fake GPU (run.go), under each of the settings
// (candidates.go), in parallel (study.go).
//
// The sequence of requests does not depend on the allocator, since it is the program
// that asks. But three things about the machine do matter and are not in a snapshot,
// and for each there are several models (model.go): the addresses that the driver
// gives, how long other streams hold freed memory back, and what lay where when the
// history begins. If all of them give the same figures these are exact, else the range
// is told, and why (doubt.go).
package whatif
