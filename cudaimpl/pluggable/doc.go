// Package pluggable is about allocators that PyTorch, or anything else, plugs in as a
// pair of functions (torch.cuda.memory.CUDAPluggableAllocator). It goes both ways.
//
//	composition.go   a pair of functions, and hooks, made into a spec.Allocator
//	library.go       an allocator made into the functions that a program calls
//	captures.go      what a library cannot know of captures, and how it finds out
//	log.go           the calls of the program, written as a trace
//
// libgaugeblock/ is the second as a shared library: the reference on the real device,
// behind C functions. cudaimpl/README.md says how PyTorch is told to use it.
package pluggable
