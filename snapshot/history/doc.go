// Package history says what a record shows of a program: its requests of the allocator of
// one device, and what is known of the settings, the limit, and the memory at the start.
// The record is a memory snapshot with its history, or a recorded trace.
//
//	workload.go, optional_requests.go  the requests
//	from_snapshot.go, from_trace.go    how they are found
//	start_state.go, reserved.go        the memory at the start of an incomplete history
//	segment_frees.go, pools.go         what a history does not record, but shows
//	limit.go                           the two limits, and what the record leaves open of them
//	settings.go                        the settings, and the sizes that follow from them
//
// Package play repeats the requests on the reference allocator, compare does so under
// other settings, and tell says what came out.
package history
