// Package model is the sequential specification of the caching allocator: what a
// single caller sees, one action after the other. An implementation is compared with
// it. A history of many concurrent callers is correct if some sequence of these
// actions gives the same results.
//
// It is not an allocator. It holds no memory and calls no driver: what is decided
// outside an allocator, such as the address of a new segment, is an argument
// (DriverResults). Every rule is written again here, in the simplest form: a free list
// is a scan for the free blocks, best fit looks at all of them, a statistic is a sum
// over all blocks. The rules are those of PyTorch's CUDACachingAllocator.
//
// # What it shares with the allocator
//
// It shares no rule of allocation with package alloc, and imports nothing of it. Both
// import package spec: its types (Config, Geometry, Range, errors, statistics,
// snapshot), the methods of these types that compute nothing but a comparison or a
// name, and the default sizes and settings. Both parse settings with package
// spec/settings. A mistake in those would be in both. The recordings of PyTorch are
// compared with the model alone (golden_test.go), and can show it.
//
// # States and actions
//
// A State is the allocator of one device, with the part of the device that decides
// what the allocator does (state.go). It is a value: an action does not change the
// State it starts from. It returns the next State, and the Result that the caller must
// have got. Devices share nothing, so an allocator of several devices is a State for
// each.
//
//	action                      what it does                                  file
//	Malloc                      allocates a block                             malloc.go
//	Free                        frees one                                     free.go
//	RecordStream                adds a stream use to a block                  free.go
//	EmptyCache                  releases cached memory to the driver          release.go
//	CreatePool, BeginAllocateToPool, EndAllocateToPool, ReleasePool, EmptyPool
//	                            routing to a private pool, and its uses       pool.go
//	Checkpoint, SetCheckpointPoolState
//	                            saves a pool's state, and restores it         checkpoint.go
//	SetMemoryFraction           limits the reserved bytes                     settings.go
//	Configure                   changes settings                              settings.go
//	Busy, Launch, Complete, Drain
//	                            launches work in a stream; completes it       stream.go
//	Stats, Layout               the statistics and the snapshot of a state    view.go
//
// expandable.go has the rules of expandable segments, fault.go has driver calls that fail.
// truth.go has what the program and the device did, apart from what the allocator remembers of it.
//
// Step (step.go) takes an operation, other than those of pools, with its outcome. It returns the next state, or
// an error that says why the operation cannot have had that outcome.
//
// # One malloc, several actions
//
// An action is what happens while a device's lock is held. Most calls are one action.
// A malloc is several when it releases the lock: while the free-memory callbacks run,
// and, with release_lock_on_cudamalloc, during the driver call. Other calls can run in
// between, so a malloc is then a sequence of actions:
//
//	MallocSearch    searches the cache, tests the limit
//	DriverMalloc    the driver grants a segment, or fails
//	MallocResume    registers the segment; or makes the next attempt
//
// Two consequences are part of the specification: two mallocs that both miss may each
// get a segment, and they may exceed the limit together, since neither sees the
// other's segment before it is registered. malloc.go has the stages. A PendingMalloc
// is a malloc between two of its actions.
//
// # What is left out
//
// Pool routing by thread or by capture id; pools with allocator functions of their
// own; reuse of frees within a capture (graph_capture_record_stream_reuse); sharing
// between processes; driver calls that fail while an earlier failure is undone. Of the
// statistics only current values are here: no peaks, no sums over time.
//
// Package bounded has this model at small bounds, where all states can be explored.
package model
