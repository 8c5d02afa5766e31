// Package bench times the allocator's hot paths on the fake device. tools/torch/bench times
// PyTorch's own allocator with the same workloads, sizes and random numbers.
//
//	pair    malloc and free of one size, repeated
//	churn   n live blocks; each step frees a random one and allocates another
//
// Run it with `make bench`; `make bench-torch` sets both side by side. docs/benchmarks.md has
// results. Package instructions counts instructions in place of time.
package bench
