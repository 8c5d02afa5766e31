// Package model is the sequential specification of the caching allocator: what a
// single caller sees, one action after the other, written so that it is obviously
// right. An implementation is held to it; so are histories of many callers at
// once, each of which must be what some sequence of these actions gives.
//
// It is not an allocator. It holds no memory and knows no driver: whatever is
// decided outside an allocator, such as the address of a new segment, is told to
// it (Given). It shares no code with one either, so that a mistake in one of the
// two shows. There is no index, no cache and no cleverness: a free list is every
// block that is free, the best fit is found by looking at all of them, a figure is
// a sum over all blocks. The rules are those of PyTorch's CUDACachingAllocator.
//
// # States and actions
//
// A State is the allocator of one device, with what of the device matters to it
// (state.go). It is a value: an action leaves the State it starts from alone and
// returns the next one, with the Result that the caller must have got. Devices
// share nothing, so an allocator of several is a State for each.
//
//	action                      what it does                                  file
//	Malloc                      gives memory out                              malloc.go
//	Free                        takes it back                                 free.go
//	RecordStream                notes that a stream uses it                   free.go
//	EmptyCache                  returns what can go to the driver             release.go
//	BeginAllocateToPool, EndAllocateToPool, ReleasePool
//	                            the life of a private pool                    pool.go
//	Checkpoint, SetCheckpointPoolState
//	                            note a pool's state, and set it back          checkpoint.go
//	SetMemoryFraction           limits what is held from the driver           settings.go
//	Configure                   changes settings                              settings.go
//	Busy, Launch, Complete, Drain
//	                            work in a stream is held up; completes        stream.go
//	Stats, Layout               what can be seen of a state                   view.go
//
// expandable.go has what is different in segments that grow and shrink.
//
// Step (step.go) has all of them behind one door: for an operation and what came
// of it, it says what the next state is, or why that cannot have come of it.
//
// # One malloc, several actions
//
// An action is what happens while a device's lock is held. Most calls are one.
// A malloc is more when the lock is released on its way: while functions that
// free memory are asked, and, with release_lock_on_cudamalloc, while the driver
// is. Then other calls find and change everything in between, and a malloc is a
// sequence of actions:
//
//	MallocSearch    the cache is searched, the limit is tested
//	DriverMalloc    the driver grants a segment, or refuses
//	MallocResume    the segment is registered; or room is made, and the limit
//	                tested, for the next attempt
//
// What follows from it is the specification, not an accident: two mallocs that
// both find nothing may each get a segment, and may pass the limit together, since
// neither sees the other's segment before it is registered. malloc.go has the
// stages; a Call is where a malloc stands between two of them.
//
// # What is left out
//
// Redirections by thread or capture, other than of everything; pools with functions of
// their own; the reuse of frees in a capture; sharing between processes; failures of the
// driver other than having no memory. Of the figures only those are here that a state
// implies: not the peaks, nor the sums over time.
//
// Package bounded has this model at small bounds, where all states can be looked at.
package model
