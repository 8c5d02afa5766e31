package linearizability_test

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/tests/linearizability"
)

// Allocators that are correct if one thread uses them. Each does something in two steps that
// must be atomic. testdata/explore/broken has a counterexample of each.

var brokenAllocators = map[string]linearizability.Factory{
	"late-table":  newLateTable,
	"stale-limit": newStaleLimit,
	"torn-stats":  newTornStats,
}

// lateTable tests that a pointer is allocated, frees it, and only then removes it from its
// table. Two concurrent frees both find the pointer.
type lateTable struct {
	*alloc.Allocator
	pause func()
	table map[spec.Ptr]bool
}

func newLateTable(driver spec.Driver, s *linearizability.Setup, pause func()) (spec.Allocator, error) {
	inner, err := alloc.New(driver, alloc.Options{Settings: s.Settings})
	return &lateTable{inner, pause, map[spec.Ptr]bool{}}, err
}

func (a *lateTable) Malloc(r spec.Request) (spec.Ptr, error) {
	p, err := a.Allocator.Malloc(r)
	if err == nil {
		a.table[p] = true
	}
	return p, err
}

func (a *lateTable) Free(p spec.Ptr) error {
	if !a.table[p] {
		return &spec.InvalidPointerError{Op: "free", Ptr: p}
	}
	a.pause()
	a.Allocator.Free(p) // it is in the table, so the error is ignored
	delete(a.table, p)
	return nil
}

// staleLimit reads the reserved bytes before it takes the lock, and compares that value with
// the limit. Here the limit is moved by the difference to the present value, which is
// equivalent.
type staleLimit struct {
	*alloc.Allocator
	pause func()
	setup *linearizability.Setup
}

func newStaleLimit(driver spec.Driver, s *linearizability.Setup, pause func()) (spec.Allocator, error) {
	inner, err := alloc.New(driver, alloc.Options{Settings: s.Settings})
	return &staleLimit{inner, pause, s}, err
}

func (a *staleLimit) Malloc(r spec.Request) (spec.Ptr, error) {
	before := a.reserved(r.Device)
	a.pause()
	moved := float64(a.setup.Limit) + float64(a.reserved(r.Device)) - float64(before)
	if err := a.SetMemoryFraction(r.Device, moved/float64(a.setup.Memory)); err != nil {
		return 0, err
	}
	defer a.SetMemoryFraction(r.Device, float64(a.setup.Limit)/float64(a.setup.Memory))
	return a.Allocator.Malloc(r)
}

func (a *staleLimit) reserved(dev spec.Device) int64 {
	stats, _ := a.Allocator.Stats(dev)
	return stats.ReservedBytes[spec.Aggregate].Current
}

// tornStats reads the allocated bytes first and the other statistics later.
type tornStats struct {
	*alloc.Allocator
	pause func()
}

func newTornStats(driver spec.Driver, s *linearizability.Setup, pause func()) (spec.Allocator, error) {
	inner, err := alloc.New(driver, alloc.Options{Settings: s.Settings})
	return &tornStats{inner, pause}, err
}

func (a *tornStats) Stats(dev spec.Device) (spec.DeviceStats, error) {
	first, err := a.Allocator.Stats(dev)
	if err != nil {
		return first, err
	}
	a.pause()
	second, err := a.Allocator.Stats(dev)
	second.AllocatedBytes = first.AllocatedBytes
	return second, err
}

// TestBroken: each of them passes without pauses within operations, and fails with them.
func TestBroken(t *testing.T) {
	program, err := linearizability.ParseProgram(`
before: malloc x 1MiB
A: free x; malloc a 20MiB; stats
B: free x; malloc b 20MiB; free b`)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range brokenAllocators {
		s := linearizability.Setup{New: broken, Memory: 64 * mib, Limit: 24 * mib}
		x, err := linearizability.Explore(s, program)
		if err != nil {
			t.Fatal(err)
		}
		if x.Refused > 0 {
			t.Errorf("%s: not linearizable although no operation was paused:\n%v", name, x.First)
		}
		s.Pauses = linearizability.BeforeLock
		if x, err = linearizability.Explore(s, program); err != nil {
			t.Fatal(err)
		}
		if x.Refused == 0 {
			t.Errorf("%s: linearizable in all of %d schedules", name, x.Schedules)
		}
	}
}
