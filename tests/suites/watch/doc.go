// Package watch lets the fake GPU see what an allocator gives out and takes back, so
// that an allocator that reuses memory too early is found out by the device, not by
// itself:
//
//	gpu := fakegpu.New(fakegpu.Config{})
//	a, err := alloc.New(gpu, alloc.Options{})
//	watched := watch.New(a, gpu)
//	... // a program that uses watched, and launches work on gpu
//	for _, h := range gpu.Hazards() {
//		t.Error(h)
//	}
//
// The work has to be launched on the fake GPU with the ranges that it touches; what
// is never launched is not seen. Memory that a program uses although the allocator
// does not think that it is out (the outputs of a graph that was launched again, at
// addresses from the capture) has to be given out by the program itself, with
// fakegpu.GPU.BeginLifetime.
package watch
