package perform

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// waiting is an allocator of one piece of memory. Before it allocates the piece again it waits
// for the stream on which it was freed, or forgets to.
type waiting struct {
	spec.Allocator
	driver  spec.Driver
	forgets bool
	piece   spec.Ptr
	stream  spec.Stream
	freed   bool
}

func (w *waiting) Malloc(r spec.Request) (p spec.Ptr, err error) {
	if w.freed && !w.forgets {
		err = w.driver.SynchronizeStream(r.Device, w.stream)
	} else if !w.freed {
		w.piece, err = w.driver.Malloc(r.Device, 512)
	}
	w.stream, w.freed = r.Stream, false
	w.driver.(*fakegpu.GPU).BeginLifetime(fakegpu.Lifetime{Range: spec.Range{Ptr: w.piece, Bytes: 512}, Stream: r.Stream})
	return w.piece, err
}

func (w *waiting) Free(spec.Ptr) error {
	w.freed = true
	w.driver.(*fakegpu.GPU).EndLifetime(w.piece)
	return nil
}

// TestPointerIsPassed: one thread allocates, and another uses the memory. The second knows
// what the allocator has waited for, because it was given the pointer.
func TestPointerIsPassed(t *testing.T) {
	use := []trace.OpRange{{ID: 1}}
	program := []trace.Op{
		{Kind: trace.OpMalloc, ID: 0, Size: 512, Stream: 1},
		{Kind: trace.OpKernel, Stream: 1, Writes: []trace.OpRange{{ID: 0}}},
		{Kind: trace.OpKernel, Stream: 3, Thread: 1}, // the second thread has begun
		{Kind: trace.OpFree, ID: 0},
		{Kind: trace.OpMalloc, ID: 1, Size: 512, Stream: 2},
		{Kind: trace.OpKernel, Stream: 2, Thread: 1, Writes: use},
	}
	for forgets, want := range map[bool]int{false: 0, true: 1} {
		h := &trace.Header{Devices: 1, TotalMemory: 1 << 30, Threads: 1, Streams: []spec.Stream{0, 0x100, 0x200, 0x300, 0x400, 0x500}}
		player, err := New(h, func(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
			return &waiting{driver: driver, forgets: forgets}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range program {
			if out := player.Perform(&program[i]); out.Err != nil {
				t.Fatalf("operation %d: %v", i, out.Err)
			}
		}
		if found := player.GPU().Hazards(); len(found) != want {
			t.Errorf("an allocator that forgets to wait: %t; hazards: %v", forgets, found)
		}
	}
}

// TestCurrentStream: of an operation that names none it is that of the capture begun last; in a
// program of the lockstep that names no release, that of the malloc performed last.
func TestCurrentStream(t *testing.T) {
	captured := []spec.DeviceStream{{Stream: 100}, {Device: 1, Stream: 200}}
	for source, want := range map[string]spec.Stream{"": 100, "gaugeblock torch": 300} {
		m := &machine{header: &trace.Header{Source: source}, captured: captured, latest: map[spec.Device]spec.Stream{0: 300}}
		if got := m.current(&trace.Op{Kind: trace.OpEmptyCache}); got != want {
			t.Errorf("source %q: stream %v is current, want %v", source, got, want)
		}
	}
}
