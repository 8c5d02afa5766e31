// Package alloc is a caching allocator of device memory. It behaves as the native CUDA
// caching allocator of PyTorch 2.11 (c10/cuda/CUDACachingAllocator.cpp), over any
// spec.Driver. docs/deviations.md lists where it does not, and why.
//
// # Structures
//
// A segment is memory obtained from the driver in one piece, or, if it is expandable, a
// reserved range of addresses with pages mapped into it. It belongs to one block pool and
// one stream. Its blocks are a doubly linked list in order of address and cover it. A
// block is allocated, or free, as a whole.
//
//	Allocator ── device ──┬── defaultPool ──┬── smallBlocks ── blocks, unmapped
//	                      ├── graphPools …  └── largeBlocks ── blocks, unmapped
//	                      ├── segments ── blocks, linked from head on
//	                      ├── allocatedBlocks   the allocated blocks by address
//	                      ├── cudaEvents        blocks that wait for other streams
//	                      └── deferredBlocks    blocks that wait for the end of a capture
//
// Work on one stream runs in order. So a block that is freed while a kernel still uses it
// can be allocated at once for the same stream, and nothing waits. Free blocks are
// therefore kept by stream. A block never changes its stream.
//
// # A malloc
//
// Malloc frees what no longer waits for events, rounds the size, chooses the pool, and
// takes the best fit out of the free blocks of the pool and the stream. If there is none,
// it obtains a segment from the driver, and if the driver has no memory, it releases more
// and more of the cache and tries again. The block that is found is split if it is too
// large. malloc.go lists the steps, with the file of each.
//
// # A free
//
// Free finds the block by its address. If only the allocation stream used the block, it is
// merged with its free neighbours and becomes a free block. If other streams used it, an
// event is recorded on each, and a later malloc frees the block when all events have
// completed. While a graph is being captured that is deferred. free.go lists the cases.
//
// What can fail comes first: an operation whose driver call fails has changed nothing,
// except by steps that had succeeded before.
//
// # Mutexes
//
// This is every mutex of the package, in the order in which they are taken. While one is
// held, only those below it may be taken.
//
//	Allocator.configuring  Configure, from reading the settings to the last device
//	openedHandles.mu       handles of other processes, and the pages mapped for them
//	device.mu              everything of a device below the field mu
//	eventPool.mu           unused events of a device, for blocks of any device
//	unreleasedPages.mu     pages that the driver has refused to take back
//	threadMetadata.mu      what the threads have set for their trace entries
//	Allocator.mu           options of the history, and annotations
//	uncached.mu            memory allocated while caching was off
//
// A mutex stands above the fields that it guards. A method that needs its receiver's mutex
// has a name that ends in Locked. So has a method that needs the device's mutex and whose
// receiver has no mutex. Segments, blocks and pools are reached only through the fields of
// a device; their own methods have no suffix.
//
// The device's mutex is held while these functions of the program run: filters of pool
// routing, trace trackers, the clock of the history, the functions of a pool with memory of
// its own. (The clock also runs with Allocator.mu held, for annotations.) They must not call
// the allocator. No mutex is held while free-memory callbacks, observers of failed requests
// and the recorder of contexts run. With release_lock_on_cudamalloc the device's mutex is
// not held either during driver calls that obtain a segment. A Locked function that releases
// the mutex meanwhile says so, and does it where the unlocked part can be seen.
//
// Two things are read without a mutex: the pointer table of a device (pointertable.go),
// and the recorder of contexts, whose result is needed before the mutex is taken.
//
// TestLocks checks the order, the names, the guarded fields and what is said of releases.
package alloc
