// Package fakegpu is a GPU that exists in memory only and does the same thing
// every time. It implements spec.Driver, spec.VirtualMemory, spec.MemorySharing,
// spec.PeerAccess and spec.Executor, so that an allocator, and programs that use
// it, can be run, broken and examined without hardware.
//
// # What there is
//
// A Machine has devices, each with so much physical memory. A GPU is one
// process's view of a machine: its address space, streams, events, graphs and
// handles. New makes a machine with a single process, which is what most tests
// want; memory is shared between the processes of one machine (ipc.go).
//
//	g := fakegpu.New(fakegpu.Config{})
//	p, _ := g.Malloc(0, 2<<20)
//	s, _ := g.CreateStream(0)
//	g.Launch(spec.Launch{Stream: s, Name: "k", Writes: []spec.Range{{Ptr: p, Bytes: 512}}})
//
// # Time
//
// Nothing runs in the background. Work given to a stream is complete when the
// call returns, unless the stream is held: by the caller, who has said Busy of it,
// or by an event it waits for. Work on a held stream queues up and completes in
// order when the reason is gone (Drain). So a test decides what has and what has
// not completed at each step, and two equal runs are equal.
//
// A call that would have to wait for a stream which nothing can release does not
// hang; it fails with ErrEndlessWait and says who holds what up (wait.go).
//
// At once is the luckiest order. A Schedule queues work and chooses among what could
// be done: nothing before somebody waits for it (Lazy), whatever a seed says
// (Random), or every possible course in turn (Enumerator). Runs with equal schedules
// are equal too.
//
// # Hazards
//
// Memory that an allocator reuses must not be touched by its earlier owner any more, on any stream,
// in any order that CUDA allows. Told what is allocated and freed (BeginLifetime, EndLifetime), the
// GPU looks at every launch for earlier work, in another lifetime of the same bytes, that nothing
// makes it wait for; and for work on memory that is not allocated, or that is gone (Hazards).
// Nothing has to go wrong for that: what is missing is found in any run, whatever the schedule. See
// detector.go, and package spec/happensbefore for what counts as order.
//
// # Memory
//
// Physical memory is counted exactly, by Malloc and CreatePage, against what the
// device has; addresses come from an AddressPolicy and say nothing about success.
// What memory holds is kept as runs of equal content, so that a fill of a gigabyte
// costs as much as one of a byte (contents.go). Work may name memory that it has
// no right to touch: that is not an error of the call, as on a real device, but is
// recorded (Violations).
//
// # Locking
//
// A machine has one lock, for itself and all of its processes, and there is no other.
// An exported method that needs it takes it first of all and holds it until it returns;
// what is not exported is called with it held, and never takes it. A test checks that.
// Only address policies and schedules are called with the lock held, of all that is
// not this package's: they must not call the machine. A Script has no lock.
//
// # Being wrong
//
// Misuse is answered with the error that the real driver gives, by name and
// number, and changes nothing. The rules, above all those of stream capture, were
// measured on an H200 with CUDA 13 (driver 580); where the contract in spec is
// stricter than the real driver, the contract is followed, and a comment says so.
// FailCall makes any call fail on purpose.
package fakegpu
