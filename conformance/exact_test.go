package conformance_test

import (
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// Each of these is the reference but for one thing that level exact compares.
type (
	elsewhere struct{ shy }            // gives other addresses
	fuller    struct{ spec.Allocator } // has one statistic more
	striped   struct{ spec.Allocator } // draws its memory otherwise
	quick     struct{ spec.Allocator } // fails where the reference does not
	shy       struct{ spec.Allocator } // has no answer
)

func (shy) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "statistics"}
}

func (shy) Snapshot() (spec.Snapshot, error) {
	return spec.Snapshot{}, &spec.NotSupportedError{Op: "snapshot"}
}

const offset = 512

func (e elsewhere) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes == 0 || r.Bytes >= spec.EiB {
		return e.Allocator.Malloc(r)
	}
	r.Bytes += offset
	p, err := e.Allocator.Malloc(r)
	if err != nil {
		return 0, err
	}
	return p + offset, nil
}

func (e elsewhere) Free(p spec.Ptr) error { return e.Allocator.Free(max(p, offset) - offset) }

func (e elsewhere) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	return e.Allocator.RecordStream(max(p, offset)-offset, dev, s)
}

func (f fuller) Stats(dev spec.Device) (spec.DeviceStats, error) {
	stats, err := f.Allocator.Stats(dev)
	stats.NumDeviceAlloc++
	return stats, err
}

func (s striped) Snapshot() (spec.Snapshot, error) {
	snapshot, err := s.Allocator.Snapshot()
	for i := range snapshot.Segments {
		snapshot.Segments[i].Pool = spec.PoolID{User: 9}
	}
	return snapshot, err
}

func (q quick) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes > 30*spec.MiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	return q.Allocator.Malloc(r)
}

func TestExactCompares(t *testing.T) {
	if race.Enabled {
		t.Skip("a search of one goroutine, of which the race detector sees nothing")
	}
	for _, test := range []struct {
		what    string
		factory perform.Factory
	}{
		{"the address", closing(func(a spec.Allocator) spec.Allocator { return elsewhere{shy{a}} })},
		{"num_device_alloc", closing(func(a spec.Allocator) spec.Allocator { return fuller{a} })},
		{"the segment at", closing(func(a spec.Allocator) spec.Allocator { return striped{a} })},
		{"the outcome", closing(func(a spec.Allocator) spec.Allocator { return quick{shy{a}} })},
	} {
		t.Run(test.what, func(t *testing.T) {
			report, err := conformance.Examine(test.factory, conformance.Exact, conformance.Against(reference.New), conformance.Operations(12_000))
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Violations {
				v := &report.Violations[i]
				if v.Rule.Name == "DecidesAsTheReference" && strings.Contains(v.Found, ": "+test.what) {
					return
				}
			}
			t.Errorf("no difference in %s was found:\n%v", test.what, report)
		})
	}
}

// closing makes the reference with something around it, of which nothing is seen but
// spec.Allocator and Close.
func closing(around func(spec.Allocator) spec.Allocator) perform.Factory {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		if err != nil {
			return nil, err
		}
		return struct {
			spec.Allocator
			closer
		}{around(a), a.(closer)}, nil
	}
}

type closer interface{ Close() error }
