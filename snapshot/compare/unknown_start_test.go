package compare

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestUnknownStart: what is measured of a history that begins late: how often the memory of its peak is freed, which
// requests come again, and how coarse the blocks are.
func TestUnknownStart(t *testing.T) {
	const MiB, base = 1 << 20, 1 << 40
	segment := func(blocks ...spec.Block) spec.Segment {
		s := spec.Segment{Address: base, TotalSize: 20 * MiB, PoolKind: spec.LargePool, Blocks: blocks}
		return s
	}
	block := func(at, size uint64, state spec.BlockState) spec.Block {
		b := spec.Block{Address: base + spec.Ptr(at), Size: size, State: state}
		if state != spec.Inactive {
			b.RequestedSize = size
		}
		return b
	}
	for _, test := range []struct {
		name  string
		trace []spec.TraceEntry
		ends  spec.Segment
		want  unknownStart
	}{
		{"a request that comes five times", again(5, base+8*MiB, 2*MiB), segment(block(0, 8*MiB, spec.ActiveAllocated), block(8*MiB, 12*MiB, spec.Inactive)), unknownStart{0, 0.5, 0.6, 0.4}},
		{"the largest block is requested", again(3, base+8*MiB, 10*MiB), segment(block(0, 8*MiB, spec.ActiveAllocated), block(8*MiB, 12*MiB, spec.Inactive)), unknownStart{0, 1.5, 1. / 3, 0.5}},
		{"a block of before is freed", append(again(1, base, 8*MiB)[1:], again(1, base, 4*MiB)...), segment(block(0, 20*MiB, spec.Inactive)), unknownStart{0, 0.6, 0, 0.4}},
		{"nothing is freed", again(1, base+8*MiB, 2*MiB)[:1], segment(block(0, 8*MiB, spec.ActiveAllocated), block(8*MiB, 2*MiB, spec.ActiveAllocated), block(10*MiB, 10*MiB, spec.Inactive)), unknownStart{0, 0, 0, 0.4}},
	} {
		f := &snapshot.File{Segments: []spec.Segment{test.ends}, DeviceTraces: make([][]snapshot.TraceEntry, 1)}
		for _, e := range test.trace {
			f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{TraceEntry: e, Context: &snapshot.Context{}})
		}
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		c := &comparing{Comparison: Comparison{Workload: w}, memory: memlimit.New(math.MaxInt64)}
		if got := c.findStart(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// again are so many requests of a size at one place, each freed before the next one.
func again(times int, at spec.Ptr, size uint64) (trace []spec.TraceEntry) {
	for range times {
		for _, action := range []spec.Action{spec.ActionAlloc, spec.ActionFreeRequested, spec.ActionFreeCompleted} {
			trace = append(trace, spec.TraceEntry{Action: action, Addr: at, Size: size})
		}
	}
	return trace
}

// TestMaxMemory: where the process would need more memory, a comparison makes one run at a time, and then gives up.
func TestMaxMemory(t *testing.T) {
	const base = 1 << 30
	f := &snapshot.File{Segments: []spec.Segment{{Address: base, TotalSize: 2 * spec.MiB, Blocks: []spec.Block{{Address: base, Size: 2 * spec.MiB, State: spec.Inactive}}}}, DeviceTraces: make([][]snapshot.TraceEntry, 1)}
	for _, e := range append([]spec.TraceEntry{{Action: spec.ActionSegmentAlloc, Addr: base, Size: 2 * spec.MiB}}, again(200, base, 512)...) {
		f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{TraceEntry: e, Context: &snapshot.Context{}})
	}
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // which finds how much is in use
	for _, jobs := range []int{1, 2} {
		for most, enough := range map[uint64]bool{0: true, 1: false} {
			last, left, again := 0, 0, false
			c, err := Compare(w, Options{Settings: []string{"max_split_size_mb:32"}, MaxMemory: most, Jobs: jobs, Present: true, Progress: func(done, total int) {
				last, left, again = done, total-done, again || done < last
			}})
			if excess := new(memlimit.ExcessError); errors.As(err, &excess) == enough || (c != nil) != enough {
				t.Errorf("at most %d bytes, %d jobs: an answer %v, %v", most, jobs, c != nil, err)
			}
			if again != (jobs == 2 && !enough) {
				t.Errorf("at most %d bytes, %d jobs: it is made again: %v", most, jobs, again)
			}
			if enough && (left != 0 || len(c.Predictions) != 2 || c.Predictions[0].Asked == c.Predictions[1].Asked) {
				t.Errorf("%d jobs: %d runs are left, %d predictions", jobs, left, len(c.Predictions))
			}
		}
	}
}

// TestMargin: by how much a prediction may miss, and from where on a program repeats itself.
func TestMargin(t *testing.T) {
	for _, test := range []struct {
		s       unknownStart
		part    float64
		repeats bool
	}{
		{unknownStart{0, 3, 0.85, 0}, 0.02, true}, {unknownStart{0.1, 3, 0.85, 0}, 0.1, true}, {unknownStart{0.11, 3, 0.85, 0}, 0.11, false},
		{unknownStart{0, 2.99, 0.85, 0}, 0.02, false}, {unknownStart{0, 3, 0.84, 0}, 0.02, false}, {unknownStart{0.03, 9, 1, 0.1}, 0.25, true}, {unknownStart{0.021, 9, 1, 0.001}, 0.021, true},
	} {
		if part, repeats := test.s.margin(); part != test.part || repeats != test.repeats {
			t.Errorf("%+v: %v, %v", test.s, part, repeats)
		}
	}
}
