package property

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/conformance"
	"gaugeblock/tests/reference"
	"gaugeblock/tests/replay"
)

// The search itself is tested on allocators that are broken in one place each. What
// it finds must be of the right class, short, and a trace that can be replayed.
// (tests/suites/broken breaks the reference from the inside.)

// deaf does not hear of streams that use memory, though it knows what is out.
type deaf struct{ *alloc.Allocator }

func (d deaf) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if _, _, err := d.BaseAllocation(p); err == nil && dev == 0 {
		return nil
	}
	return d.Allocator.RecordStream(p, dev, s)
}

// generous accepts a free of memory that is not out.
type generous struct{ *alloc.Allocator }

func (g generous) Free(p spec.Ptr) error {
	_ = g.Allocator.Free(p)
	return nil
}

// stingy says that it has no memory long before that is so.
type stingy struct{ *alloc.Allocator }

func (s stingy) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes > 8*spec.MiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes, SegmentSize: r.Bytes, DeviceFree: spec.GiB}
	}
	return s.Allocator.Malloc(r)
}

// hoarder does not empty its cache.
type hoarder struct{ *alloc.Allocator }

func (hoarder) EmptyCache() error { return nil }
func (hoarder) Close() error      { return nil }

// liar says that a restore has freed nothing.
type liar struct{ *alloc.Allocator }

func (l liar) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	delta, err := l.Allocator.Restore(dev, state)
	delta.Freed = nil
	return delta, err
}

func TestSearchBites(t *testing.T) {
	for _, test := range []struct {
		name, area string
		broken     func(*alloc.Allocator) spec.Allocator
		class      string
		most       int // operations of the shortest program
	}{
		{"deaf", "core", func(a *alloc.Allocator) spec.Allocator { return deaf{a} }, "NoReuseWhileInUse", 6},
		{"generous", "core", func(a *alloc.Allocator) spec.Allocator { return generous{a} }, "misuse accepted: free", 1},
		{"stingy", "core", func(a *alloc.Allocator) spec.Allocator { return stingy{a} }, "out of memory with memory left", 1},
		{"hoarder", "core", func(a *alloc.Allocator) spec.Allocator { return hoarder{a} }, "not returned", 3},
		{"liar", "checkpoint", func(a *alloc.Allocator) spec.Allocator { return liar{a} }, "restore delta", 5},
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

// replayable writes a counterexample and replays it, through the sound reference.
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
