// Package cudaimpl is a real GPU: spec.Driver, spec.VirtualMemory,
// spec.MemorySharing, spec.PeerAccess and spec.Executor on CUDA's driver
// interface.
//
// # How it meets the driver
//
// libcuda.so.1 comes with the driver, not with the machine that builds, so it is
// opened at run time, and what is needed of its declarations is in driver.h: the
// package builds and is tested where there is no CUDA. Open says what is missing
// if it cannot be had: the library, one of its functions, a driver that is new
// enough, a device, or cgo in this build.
//
//	driver.h, driver.c   types, the table of functions, and how it is filled
//	library.go           opening, and what can be wrong
//	context.go           one primary context a device, retained when first needed
//	ledger.go            what was taken of the driver and has not been given back
//	errors.go            CUDA's errors as the contract has them
//	memory.go virtual.go ipc.go peer.go stream.go event.go capture.go graph.go
//	work.go              the contract, a concern each
//	hold.go              streams that are held back, for tests
//
// # Threads
//
// CUDA keeps the current context for each thread of the system, and Go moves
// goroutines between threads. So no call relies on what is current: in one step of
// C, on one thread, it pushes the context that it needs, makes the driver's call,
// and pops it. A thread that belongs to somebody else, such as PyTorch's, is left
// as it was found.
//
// A capture that is not spec.CaptureRelaxed belongs to the thread that began it,
// and must be ended there (cudaStreamEndCapture): a caller that begins one locks
// itself to its thread (runtime.LockOSThread) until it is over.
//
// # What belongs to whom
//
// The primary context of a device is shared with everything else in the process
// that uses CUDA's runtime; Close gives up this package's hold on it. A stream may
// come from elsewhere: handles of streams are used as they come. Everything else
// has to have been obtained from the same GPU; other handles are refused, and do
// not reach the driver, which would not survive some of them. Leaks lists what
// the GPU still has of the driver, and Close releases it.
package cudaimpl
