// Package play repeats the requests of a workload on the reference allocator and a fake
// GPU, under any settings and limits.
//
//	run.go, start_layout.go,            a run
//	pool_operations.go
//	driver.go, addresses.go,            its driver, a fake GPU
//	address_gaps.go
//	assumptions.go                      what a run assumes of things that are not recorded
//	verify.go, final_segments.go        the recorded run, reproduced
//	refused_requests.go                 what only a replay shows of a record
//	smallest_limit.go                   the smallest limit without a failure
//	memory.go                           the memory that runs take together
package play
