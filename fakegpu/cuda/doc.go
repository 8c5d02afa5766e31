// Package cuda is the fake GPU as CUDA: shared libraries libcudart.so.13, libcudart.so.12,
// libcuda.so.1 and libnvidia-ml.so.1 on top of a fakegpu.Machine, for programs that were
// written for CUDA and are not changed. fakegpu/cuda/README.md tells how to use them.
//
//	include/   headers: what the libraries offer (gaugeblock_cuda.h), and how they speak
//	           with the machine (gaugeblock_cuda_table.h)
//	lib/       the libraries, in C
//	host/      the machine that answers their calls, in Go
//	machine/   the same as a library, for programs in which there is no Go
//	build/     a command that builds all of it
//
// The package itself has the C sources in it and builds the libraries from them, so that a
// program which needs them, and a C compiler, has them at hand.
package cuda
