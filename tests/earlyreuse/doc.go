// Package earlyreuse lets the fake GPU see what an allocator allocates and frees, so that the
// device, and not the allocator itself, finds memory that is reused too early:
//
//	gpu := fakegpu.New(fakegpu.Config{})
//	a, err := alloc.New(gpu, alloc.Options{})
//	watched := earlyreuse.New(a, gpu)
//	... // a program that uses watched, and launches work on gpu
//	for _, h := range gpu.Hazards() {
//		t.Error(h)
//	}
//
// The work has to be launched on the fake GPU with the ranges that it touches; what
// is never launched is not seen. Memory that a program uses although the allocator
// does not count it as allocated (the outputs of a graph that was launched again, at
// addresses from the capture) has to be told of by the program itself, with
// fakegpu.GPU.BeginLifetime.
package earlyreuse
