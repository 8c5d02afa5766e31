// Package graphtree is CUDA graph trees over the contract of package spec: many graphs,
// one pool of memory. It decides as PyTorch 2.11's CUDAGraphTreeManager
// (torch/_inductor/cudagraph_trees.py) does.
//
// # Why trees
//
// A captured graph writes to the same addresses at every launch. If every graph had
// memory of its own that would be harmless, and would take far too much memory. If all
// share a pool, a graph writes where others have left their outputs, and it must be
// known which of those are still live.
//
// A program calls functions in some order, A, B, C. When B is recorded after A, the
// live outputs of A are in blocks that the allocator will not allocate to B. The rest
// of A's memory can be allocated to B. So the recording of B can be launched whenever
// the same outputs of A are live, or fewer. It is a child of A. If other outputs are
// live the next time, or the program calls D instead, that is another child. All
// recordings form trees. A path through one is what the program does between two
// moments at which no output is needed. All paths share the pool, which has to be as
// large as the largest of them.
//
//	    A                 A B C   all three launched, nothing recorded
//	   / \                A B D   D is recorded: the pool must first be restored
//	  B   B'              A B'    other outputs of A were live when B was called
//	 / \
//	C   D
//
// # What makes it difficult
//
// A launch does on the device what the recording did, and nothing in the allocator.
// Before something new is recorded below a node that was launched, the allocator's
// state must become what it would be if the node had just been run (checkpoint.go).
//
// And a tree must know which outputs a program has references to. It has a weak
// reference to each output on the path (storage.go). A program ends a reference by
// Release, where Python counts references.
//
// # The files, in the order of a call
//
//	function.go, work.go   a function, and the device as the function sees it
//	tensor.go, storage.go  references to memory, and weak references
//	manager.go             a device's trees, the pool, the stream
//	call.go                what a call becomes
//	generation.go          when earlier outputs do not matter any more
//	ending.go              when a path ends, and what happens to its outputs
//	warmup.go              the first run
//	pool.go                routing requests to the pool; capturing
//	node.go, record.go     a recording
//	liveness.go            what has to be dead for a recording to be launched
//	aliases.go             outputs that are the same memory as others
//	execute.go             launching a recording
//	cache.go               why its outputs are then the same tensors
//	checkpoint.go          restoring the pool
//	limit.go               the re-record limit
//
// graphtree/README.md has an example, the rules, and how they are compared with
// PyTorch.
package graphtree
