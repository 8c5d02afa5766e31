// Package examine examines allocators that are not written in Go: a shared library with the
// functions that PyTorch's CUDAPluggableAllocator takes, or a program that speaks the line
// protocol (tools/examine/README.md). The allocator runs in a process of its own, on the fake GPU,
// and the conformance kit (conformance) makes up its programs. A process that
// crashes, or does not answer, is a finding like any other.
//
//	symbols.go    which functions a library exports
//	contract.go   what the program owes the allocator, in words
//	build.go      the libraries of the fake GPU, and the process that loads the library (host/)
//	host.go       that process, seen from here
//	library.go    the library as a spec.Allocator
//	examine.go    an examination, and its report
package examine
