package linearizability_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/linearizability"
)

// Goroutines under the Go scheduler. The interleavings are random, and every history must be
// linearizable. Under -race these runs find missing locks.

// TestParallel runs many short programs, so that Porcupine's search stays small.
func TestParallel(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup linearizability.Setup
	}{
		{"lock held", linearizability.Setup{Limit: 80 * mib}},
		{"lock released", linearizability.Setup{Limit: 80 * mib, Settings: releaseLock}},
		{"driver refuses", linearizability.Setup{Memory: 84 * mib, Settings: releaseLock}},
		{"garbage collection", linearizability.Setup{Limit: 120 * mib, Settings: "garbage_collection_threshold:0.3"}},
		{"oversize", linearizability.Setup{Limit: 80 * mib, Settings: "max_split_size_mb:20," + releaseLock}},
		{"two devices", linearizability.Setup{Devices: 2, Limit: 80 * mib, Settings: releaseLock}},
		{"three devices", linearizability.Setup{Devices: 3, Limit: 80 * mib}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.setup.Streams = 1
			runs := 30
			if testing.Short() {
				runs = 5
			}
			var seen tally
			for seed := range runs {
				p := parallelProgram(rand.New(rand.NewPCG(uint64(seed), 0)), max(c.setup.Devices, 1))
				h, err := linearizability.Parallel(c.setup, p)
				if err != nil {
					t.Fatal(err)
				}
				if err := linearizability.Check(h); err != nil {
					t.Fatal(err)
				}
				seen.count(h)
			}
			t.Logf("%+v", seen)
		})
	}
}

// parallelProgram has four threads of twelve operations. All of them free the allocations
// from before they began, so some pointers are freed twice.
func parallelProgram(r *rand.Rand, devices int) linearizability.Program {
	var p linearizability.Program
	device := func() spec.Device { return spec.Device(r.IntN(devices)) }
	malloc := func(name string) linearizability.Op {
		sizes := []uint64{512, mib, mib, mib + 1, 10 * mib, 12 * mib, 20 * mib, 22 * mib}
		return linearizability.Op{
			Kind: trace.OpMalloc, Name: name, Device: device(), Bytes: sizes[r.IntN(len(sizes))], Stream: r.IntN(2),
		}
	}
	for i := range 4 {
		p.Before = append(p.Before, malloc(fmt.Sprintf("x%d", i)))
	}
	for range 4 {
		var ops []linearizability.Op
		for i := range 12 {
			switch r.IntN(10) {
			default:
				ops = append(ops, malloc(fmt.Sprintf("m%d", i)))
			case 4, 5:
				ops = append(ops, linearizability.Op{Kind: trace.OpFree, Name: fmt.Sprintf("x%d", r.IntN(4))})
			case 6, 7:
				ops = append(ops, linearizability.Op{Kind: trace.OpFree, Name: fmt.Sprintf("m%d", r.IntN(i+1))})
			case 8:
				ops = append(ops, linearizability.Op{Kind: trace.OpRecordStream, Name: fmt.Sprintf("m%d", r.IntN(i+1)), Stream: 1})
			case 9:
				kinds := []trace.OpKind{model.OpStats, model.OpSnapshot, trace.OpEmptyCache, trace.OpBusy, trace.OpDrain}
				ops = append(ops, linearizability.Op{Kind: kinds[r.IntN(len(kinds))], Device: device()})
			}
		}
		p.Threads = append(p.Threads, ops)
	}
	return p
}

// TestDoubleFree: eight goroutines free the same pointers at once. For each pointer exactly
// one free succeeds.
func TestDoubleFree(t *testing.T) {
	const threads, pointers = 8, 6
	var p linearizability.Program
	var frees []linearizability.Op
	for i := range pointers {
		name := fmt.Sprintf("x%d", i)
		p.Before = append(p.Before, linearizability.Op{Kind: trace.OpMalloc, Name: name, Bytes: mib})
		frees = append(frees, linearizability.Op{Kind: trace.OpFree, Name: name})
	}
	for range threads {
		p.Threads = append(p.Threads, frees)
	}
	for range 20 {
		h, err := linearizability.Parallel(linearizability.Setup{}, p)
		if err != nil {
			t.Fatal(err)
		}
		succeeded := map[spec.Ptr]int{}
		for _, c := range h.Calls {
			switch {
			case c.Op.Kind != trace.OpFree:
			case c.Out.Err == nil:
				succeeded[c.Ptr]++
			case trace.ErrorName(c.Out.Err) != trace.ErrorInvalidPointer:
				t.Errorf("%v", c.Out.Err)
			}
		}
		for ptr, n := range succeeded {
			if n != 1 {
				t.Errorf("%v was freed %d times", ptr, n)
			}
		}
		if len(succeeded) != pointers {
			t.Errorf("%d of %d pointers were freed", len(succeeded), pointers)
		}
		if err := linearizability.Check(h); err != nil {
			t.Error(err)
		}
	}
}
