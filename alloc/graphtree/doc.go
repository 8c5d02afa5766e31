// Package graphtree is CUDA graph trees over the contract of package spec: many
// graphs, one pool of memory. It decides as PyTorch 2.11's CUDAGraphTreeManager
// (torch/_inductor/cudagraph_trees.py) does.
//
// # Why trees
//
// A captured graph writes to the same addresses at every launch. If every graph had
// memory of its own that would be harmless, and far too much memory. If all share a
// pool, a graph writes where others have left their outputs, and somebody must know
// which of those are still needed.
//
// A program calls functions in some order, A, B, C. When B is recorded after A, the
// outputs of A that are still held are there, in blocks that the allocator will not
// give to B; the rest of A's memory is B's to use. So the recording of B is right
// whenever the same outputs of A are held, or fewer, and wrong otherwise. It is a
// child of A. If the program comes by another time with something else held, or
// calls D instead, that is another child. All recordings form trees, and a path
// through one is what the program does between two moments at which it holds
// nothing that matters. All paths share the pool, and it has to be as large as the
// largest of them.
//
//	    A                 A B C   all three launched, nothing recorded
//	   / \                A B D   D is recorded: the pool must first be set back
//	  B   B'              A B'    other outputs of A were held when B was called
//	 / \
//	C   D
//
// # What makes it difficult
//
// A launch does on the device what the recording did, and nothing on the host: the
// allocator still believes what it believed. Before something new is recorded
// below a node that was launched, the allocator has to be told what would be true
// if the node had just been run (checkpoint.go).
//
// And a tree must know what a program holds. It watches, without holding it
// itself, each output on the path (storage.go). A program says that it lets go by
// Release, where Python counts references.
//
// # The files, in the order in which a call meets them
//
//	function.go, work.go   what is to be run, and how it sees the device
//	tensor.go, storage.go  holds on memory, and watching them
//	manager.go             a device's trees, the pool, the stream
//	call.go                what to make of a call
//	generation.go          when earlier outputs stop to matter
//	ending.go              when a path ends, and what becomes of its outputs
//	warmup.go              the first run
//	pool.go                sending requests to the pool; capturing
//	node.go, record.go     a recording
//	liveness.go            what has to be dead for it to be launched again
//	aliases.go             outputs that are the same memory as others
//	execute.go             launching it again
//	cache.go               why the outputs are then the same tensors
//	checkpoint.go          setting the pool back
//	limit.go               when recording is not worth it
//
// docs/graph-trees.md tells a whole story, and what is held against PyTorch.
package graphtree
