package property

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// The search is tested on mutants: allocators that are broken in one place each. What it
// finds must have the right class, be short, and be a trace that can be replayed.
// (tests/broken has mutants of the reference's own code.)

// ignoresStreams ignores RecordStream on allocated blocks.
type ignoresStreams struct{ *alloc.Allocator }

func (m ignoresStreams) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if _, _, err := m.BaseAllocation(p); err == nil && dev == 0 {
		return nil
	}
	return m.Allocator.RecordStream(p, dev, s)
}

// acceptsAnyFree accepts a free of a pointer that is not allocated.
type acceptsAnyFree struct{ *alloc.Allocator }

func (m acceptsAnyFree) Free(p spec.Ptr) error {
	_ = m.Allocator.Free(p)
	return nil
}

// failsEarly is out of memory although the device has memory.
type failsEarly struct{ *alloc.Allocator }

func (m failsEarly) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes > 8*spec.MiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes, SegmentSize: r.Bytes, DeviceFree: spec.GiB}
	}
	return m.Allocator.Malloc(r)
}

// keepsCache does not empty its cache.
type keepsCache struct{ *alloc.Allocator }

func (keepsCache) EmptyCache() error { return nil }
func (keepsCache) Close() error      { return nil }

// omitsFreed returns an empty list of freed blocks from a restore.
type omitsFreed struct{ *alloc.Allocator }

func (m omitsFreed) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	delta, err := m.Allocator.Restore(dev, state)
	delta.Freed = nil
	return delta, err
}

func TestSearchFindsMutants(t *testing.T) {
	for _, test := range []struct {
		name, area string
		broken     func(*alloc.Allocator) spec.Allocator
		class      string
		most       int // operations of the shortest program
	}{
		{"ignoresStreams", "core", func(a *alloc.Allocator) spec.Allocator { return ignoresStreams{a} }, "NoReuseWhileInUse", 6},
		{"acceptsAnyFree", "core", func(a *alloc.Allocator) spec.Allocator { return acceptsAnyFree{a} }, "misuse accepted: free", 1},
		{"failsEarly", "core", func(a *alloc.Allocator) spec.Allocator { return failsEarly{a} }, "out of memory with memory left (small)", 1},
		{"keepsCache", "core", func(a *alloc.Allocator) spec.Allocator { return keepsCache{a} }, "not returned", 3},
		{"omitsFreed", "checkpoint", func(a *alloc.Allocator) spec.Allocator { return omitsFreed{a} }, "restore delta", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options()
			o.New = func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
				a, err := alloc.New(driver, alloc.Options{Geometry: h.Geometry, Settings: h.Settings})
				return test.broken(a), err
			}
			found := conformance.Campaign{Area: conformance.Find(test.area), Options: o, Seed: 1, Operations: 20_000}.Run().Failure
			if found == nil {
				t.Fatal("nothing was found")
			}
			shortest := conformance.Minimise(found, o)
			t.Logf("found after %d operations: %v", found.Found, shortest)
			if shortest.Class != test.class {
				t.Errorf("it was %q that was found, not %q", shortest.Class, test.class)
			}
			if len(shortest.Ops) > test.most {
				t.Errorf("the shortest program has %d operations, %d are enough", len(shortest.Ops), test.most)
			}
			replayable(t, shortest)
		})
	}
}

// replayable writes a counterexample and replays it on the reference.
func replayable(t *testing.T, f *conformance.Failure) {
	t.Helper()
	path, err := f.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	result, err := replay.File(path, replay.Options{New: reference.New})
	if err != nil || result.FirstDifference != nil || result.NotSupported != "" || result.Operations != len(f.Ops) {
		t.Errorf("the trace cannot be replayed: %v, %v", &result, err)
	}
}
