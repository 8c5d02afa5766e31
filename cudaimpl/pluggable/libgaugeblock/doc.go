// Command libgaugeblock is the reference allocator on the real device as a shared library
// of C functions, to be plugged into PyTorch or any other program:
//
//	make pluggable
//
// builds libgaugeblock.so from it, and from shim/ libgaugeblock_torch.so, a little C++ for
// what C cannot say. gaugeblock.h has the functions. There is nothing to it as a program.
package main

func main() {}
