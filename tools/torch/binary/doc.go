// Package binary is PyTorch's own allocator, the binary that PyTorch comes with
// (libc10_cuda.so), as a spec.Allocator. It runs on the fake GPU: the CUDA that it is given
// are the libraries of fakegpu/cuda, and this program is the machine behind them. So it can
// be asked whatever the reference can be asked, on an equal device, without a GPU.
//
//	adaptor/       the binary behind one C function, in C++; built against the headers of
//	               the PyTorch that is opened
//	library.go     building and loading
//	allocator.go   spec.Allocator, and how a call goes
//	abilities.go   what it can do beside (pools.go, history.go, sharing.go)
//	errors.go      its exceptions as errors of spec
//
// PyTorch's allocator is one a process: New gives a new one, as far as anybody can tell, and
// the one before must not be used any more. It is for one goroutine at a time.
//
// The package needs cgo, and a C++ compiler when it is used. Open says what is missing.
package binary
