// Package spec is the contract that everything else in gaugeblock is written
// against. It says what a GPU driver must offer to a caching allocator, what an
// allocator offers to a program, and in which words the two are recorded,
// counted, drawn and checked.
//
// # How the pieces meet
//
//	program ──Request──▶ Allocator ──▶ Driver            (memory, events, captures)
//	   │                     │
//	   └──work──▶ Executor   └─▶ Stats, Snapshot, TraceEntry, Inspector
//	                                   │
//	                                   └─▶ Invariant (named, numbered, checkable)
//
// A Driver is the few calls an allocator makes of a GPU. An Executor is what the
// program itself does with the GPU: launch, copy, wait, capture. The package
// fakegpu implements both deterministically, cudaimpl implements both on a real
// device. An Allocator hands out memory. What it decided can be seen in three
// ways: by its statistics (DeviceStats), by a picture of its memory (Snapshot),
// and by the entries it writes as it goes (TraceEntry).
//
// A recorded run is a sequence of Ops, each with the Events and figures that the
// recorder saw; docs/trace-format.md describes the files and TraceReader reads
// them.
//
// Unless a name says otherwise every size is in bytes, every address is a device
// address in bytes, and a "block" or "segment" means what PyTorch's
// CUDACachingAllocator means by it: a segment is memory obtained from the driver
// in one piece (or one contiguous mapped range of an expandable segment), a block
// is a part of a segment that is given out, or kept free, as a whole.
//
// The package imports nothing else of this module, so that an author of another
// allocator can depend on it alone.
package spec
