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
//	                                   └─▶ spec/invariant
//
// A Driver is the few calls an allocator makes of a GPU. An Executor is what the
// program itself does with the GPU: launch, copy, wait, capture. The package
// fakegpu implements both deterministically, cudaimpl implements both on a real
// device. An Allocator allocates memory. What it decided is visible in three ways:
// its statistics (DeviceStats), a snapshot of its memory (Snapshot), and the trace
// entries that it records (TraceEntry).
//
// Three packages below this one build on the contract, and an allocator needs only
// the first: spec/settings reads PYTORCH_ALLOC_CONF, spec/trace reads and writes
// recorded runs (spec/trace/README.md), spec/invariant has the named invariants
// (docs/invariants.md).
//
// Unless a name says otherwise every size is in bytes, every address is a device
// address in bytes, and a "block" or "segment" means what PyTorch's
// CUDACachingAllocator means by it: a segment is memory obtained from the driver
// in one piece (in a Snapshot: or one contiguous mapped range of an expandable
// segment; elsewhere an expandable segment is its whole reserved range), a block
// is a part of a segment that as a whole has one state (BlockState).
//
// The package imports nothing else of this module, so that an author of another
// allocator can depend on it alone.
package spec
