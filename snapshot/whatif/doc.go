// Package whatif predicts the memory statistics of a recorded run under other allocator
// settings and other limits: would other settings have avoided that it ran out of memory,
// and how exact is that?
//
// The input is a memory snapshot with its history, or a recorded trace.
//
//	workload.go                     the requests of the program
//	fromsnapshot.go, fromtrace.go   how they are found
//	start_state.go, reserved.go     the memory at the start of an incomplete history
//	segment_frees.go, pools.go,     what a history does not record, but shows
//	refused_requests.go
//	limit.go                        the two limits, and what the record leaves open of them
//	run.go, start_layout.go         a run: the same requests to the reference allocator
//	driver.go, addresses.go,        its driver, a fake GPU
//	address_gaps.go
//	assumptions.go                  what a run assumes of things that are not recorded
//	verify.go, final_segments.go    the recorded run, reproduced
//	compare.go, candidates.go,      all runs of all settings
//	smallest_limit.go
//	certainty.go                    whether a prediction is exact, and why not
//	failure_dependent.go            programs whose requests depend on failures
//	cause.go                        why a run is out of memory
//	ranking.go, verdict.go,         what is reported
//	table.go, json.go
//
// The requests do not depend on the allocator, since the program makes them. But three
// things are not in a snapshot and matter: the addresses that the driver returns, when
// other streams have finished with freed memory, and the layout at the start of an
// incomplete history. For each there are several assumptions. If the statistics are equal
// under all of them they are exact. Otherwise their range is reported, and the reason.
package whatif
