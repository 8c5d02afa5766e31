// Package points is what the sources of alloc are built with to run under the scheduler of
// package linearizability. Package instrument writes such sources; the build takes them as an
// overlay, and alloc itself imports nothing of this.
//
//	mutex.go     stands in for sync
//	atomic.go    stands in for sync/atomic
//	call.go      a call of the driver or of a function of the program
//	memory.go    reads and writes of memory, and whether they are ordered
//	run.go       the run that all of it belongs to
//
// # Points
//
// A point is a place in the source at which a thread does something that another thread can
// observe or prevent: it takes a mutex, has released one, reads or writes an atomic, calls the
// driver, or calls a function of the program. At each of them the run's Pause lets the
// scheduler choose which thread goes on. A thread that needs a mutex which another thread holds
// is not ready until that is released; no thread sleeps, and no real mutex is taken.
//
// Between two points a thread reads and writes plain memory only. Whether such accesses of
// different threads are ordered, by mutexes and atomics, is decided for each run with vector
// clocks. If all are, a schedule that changes threads between points differs from none that
// changes them elsewhere. If two are not, the run has a data race, which is a failure.
package points
