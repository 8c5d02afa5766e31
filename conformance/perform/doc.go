// Package perform performs the operations of a program on an allocator, on a fake GPU: those of a
// trace, or those that a program makes up as it goes. How each kind is performed stands with its
// group: memory.go, pools.go, sharing.go, streams.go, host.go, capture.go, device.go, trees.go.
//
// Some of what an operation expects is the driver's part, since no allocator can guess at which
// address a real driver puts a segment. That part is fed to the fake GPU (device.go). The rest of
// the expectation is for whoever compares.
package perform
