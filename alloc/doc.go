// Package alloc is a caching allocator of device memory. It behaves as the native CUDA
// caching allocator of PyTorch (c10/cuda/CUDACachingAllocator.cpp) in the release whose rules
// it is given (Options.Rules; the zero value is 2.11), over any spec.Driver.
// docs/deviations.md lists where it does not, and why.
//
// # Structures
//
// A segment is memory obtained from the driver in one piece, or, if it is expandable, a reserved
// range of addresses with pages mapped into it. It belongs to one block pool and one stream. Its
// blocks are a doubly linked list in order of address and cover it. Each block as a whole is
// allocated, free, or freed and still used by a stream (active_pending_free: pending if events were
// recorded for it, deferred if a later operation is to record them); in an expandable segment it can
// also be unmapped.
//
//	Allocator ── device ──┬── defaultPool ──┬── smallBlocks ── free, unmapped blocks by stream
//	                      ├── graphPools …  └── largeBlocks ── free, unmapped blocks by stream
//	                      ├── segments ── blocks, linked from head on
//	                      ├── allocatedBlocks   the allocated blocks by address
//	                      ├── cudaEvents        events that pending blocks wait for
//	                      └── deferredBlocks    deferred blocks, freed while there may have been a capture
//
// Work on one stream runs in order. So a block that is freed while a kernel still uses it
// can be allocated at once for the same stream, and nothing waits. Free blocks are
// therefore kept by stream. A block never changes its stream.
//
// The files:
//
//	malloc      malloc.go (lists the steps), size.go, bestfit.go, segment.go, release.go
//	free        free.go, events.go (pending blocks), capture.go (deferred blocks)
//	pools       pool.go, capture.go (routing of requests), checkpoint.go (restore)
//	expandable  expandable.go (addresses), pages.go (driver calls), mapping.go (blocks)
//	processes   share.go, peer.go (access of other devices)
//	views       stats.go, snapshot.go, tracebuffer.go (history)
//	entry       allocator.go, device.go, settings.go, uncached.go
//	structures  block.go
//
// These seven files make it fast, and need not be read: each has a contract of one sentence, and a
// reference implementation in its test that does the same in a few lines.
//
//	pointertable.go  the allocated blocks by address: a map
//	slotgroup.go     a cache line of it
//	streamlists.go   the free blocks of a block pool by stream
//	sizeclasses.go   those of a stream in order of size and address: an ordered tree
//	blocklist.go     a part of them: a sorted list
//	tally.go         the statistics of blocks: spec.StatArray
//	lock.go          how the device's mutex is taken
//
// # Failures
//
// Each step of an operation is all or nothing: what can fail in it comes first. After an error the
// steps before it remain. A malloc, EmptyCache, EmptyPool, Close and a checkpoint may have made
// deferred blocks pending or free; all but the checkpoint may have completed frees of pending
// blocks and returned a part of the cache; a malloc may have mapped pages, EnablePeerAccess may
// have given access to a part. A free, a record_stream, and a restore that fail have changed
// nothing.
//
// A function of the program, or a driver call, can also panic, or end the goroutine
// (runtime.Goexit). Deferred functions then release the mutex and make the structures whole:
// a driver call that panics counts as one that has failed. They do not recover, so the panic
// reaches the caller with the stack of its origin. Functions of the program that could find the
// structures half changed are not called then, but at the end of the step (deliverLocked).
//
// # Mutexes
//
// This is every mutex of the package, in the order in which they are taken. While one is
// held, only those below it may be taken.
//
//	Allocator.configuring  what sets something on every device: Configure, RecordHistory, OnTrace, ...
//	openedHandles.mu       handles of other processes, and the pages mapped for them
//	device.turns           whose turn it is to take device.mu; held while waiting for it (lock.go)
//	device.mu              a device: the fields below mu, and writes of allocatedBlocks
//	eventPool.mu           unused events of a device; held during CreateEvent, DestroyEvent
//	unreleasedPages.mu     pages that the driver has not taken back; held during ReleasePage
//	threadMetadata.mu      what the threads have set for their trace entries
//	Allocator.mu           annotations, and the options that RecordHistory has set
//	uncached.mu            memory allocated while caching was off
//
// A mutex stands above the fields that it guards. A name ends in Locked if the function is
// to be called with a mutex held, that of its receiver or else the device's; the ending is
// left out where the receiver and the arguments can be reached only with it held (segments,
// blocks, pools, event queues, trace buffers).
//
// The device's mutex is held while these functions of the program run: filters of pool
// routing, trace trackers, the clock of the history (for trace entries), PoolMemory.Free,
// visitors of Inspect, and, unless release_lock_on_cudamalloc is set, PoolMemory.Allocate. They
// must not call the allocator. No mutex is held while free-memory callbacks, observers of failed
// requests and the recorder of contexts run. With release_lock_on_cudamalloc the device's mutex
// is released during Driver.Malloc and PoolMemory.Allocate, not during other driver calls. A
// Locked function that releases the mutex says so.
//
// Read without a mutex, as atomics: device.allocatedBlocks (pointertable.go),
// device.contextRecorder (the context is gathered before the mutex is taken),
// Allocator.enabled, uncached.used, threadMetadata.used.
//
// TestLocks checks the order, the names, the guarded fields, and that a function which
// releases the mutex says so.
package alloc
