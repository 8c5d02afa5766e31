package linearizability_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/linearizability"
)

// Programs with too many schedules for an exhaustive search: two to four threads with up to
// six operations each. Rapid chooses everything, and shrinks failures.

// TestRandom: every history is linearizable.
func TestRandom(t *testing.T) {
	var seen tally
	for _, settings := range pairSettings {
		for _, mode := range []string{"held", "released"} {
			t.Run(settings+" "+mode, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					s := drawSetup(t)
					s.Settings = settings
					if mode == "released" {
						s.Settings = withRelease(settings)
					}
					seen.count(checkRandom(t, s, drawProgram(t)))
				})
			})
		}
	}
	t.Logf("%+v", seen)
	if seen.Overlapping == 0 || seen.Failed == 0 {
		t.Error("no calls overlapped, or none failed")
	}
}

func checkRandom(t *rapid.T, s linearizability.Setup, p linearizability.Program) *linearizability.History {
	policy := linearizability.Random{Pick: func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "thread") }}
	h, err := linearizability.Run(s, p, policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := linearizability.Check(h); err != nil {
		t.Fatal(err)
	}
	return h
}

// tally counts histories, calls and results.
type tally struct {
	Histories, Calls int
	Overlapping      int // calls that began while another was pending
	Failed           int
}

func (l *tally) count(h *linearizability.History) {
	l.Histories++
	for i := range h.Calls {
		l.Calls++
		if h.Calls[i].Out.Err != nil {
			l.Failed++
		}
		if i > 0 && h.Calls[i].Begin < h.Calls[i-1].End {
			l.Overlapping++
		}
	}
}

func drawSetup(t *rapid.T) linearizability.Setup {
	s := linearizability.Setup{
		Devices: rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "devices"),
		Streams: 2,
		Memory:  rapid.SampledFrom([]uint64{64 * mib, 256 * mib}).Draw(t, "memory"),
		Limit:   rapid.SampledFrom([]uint64{0, 24 * mib, 48 * mib}).Draw(t, "limit"),
		Pauses:  linearizability.AllPauses,
	}
	if rapid.IntRange(0, 3).Draw(t, "callback") == 0 {
		s.Callback = []string{"x", "a1", "y"}
	}
	return s
}

// shared are the names of the allocations from before the threads begin, which every thread
// may free.
var shared = []string{"x", "y", "z"}

func drawProgram(t *rapid.T) linearizability.Program {
	p := linearizability.Program{}
	for _, name := range shared {
		p.Before = append(p.Before, drawMalloc(t, name))
	}
	for thread := range rapid.IntRange(2, 4).Draw(t, "threads") {
		var ops []linearizability.Op
		for i := range rapid.IntRange(1, 6).Draw(t, "operations") {
			ops = append(ops, drawOp(t, fmt.Sprintf("%c%d", 'a'+thread, i)))
		}
		p.Threads = append(p.Threads, ops)
	}
	return p
}

func drawMalloc(t *rapid.T, name string) linearizability.Op {
	return linearizability.Op{
		Kind: trace.OpMalloc, Name: name,
		Bytes: rapid.SampledFrom([]uint64{
			20 * mib, 20 * mib, 512, mib, mib + 1, 2 * mib, 9 * mib, 12 * mib, 24 * mib, 30 * mib,
		}).Draw(t, "bytes"),
		Stream: rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "stream"),
	}
}

// drawOp draws an operation. The name is that of a new allocation.
func drawOp(t *rapid.T, name string) linearizability.Op {
	kind := rapid.SampledFrom([]trace.OpKind{
		trace.OpMalloc, trace.OpMalloc, trace.OpMalloc, trace.OpFree, trace.OpFree, trace.OpFree,
		trace.OpRecordStream, trace.OpEmptyCache, trace.OpBusy, trace.OpDrain, trace.OpSetMemoryFraction,
		model.OpStats, model.OpSnapshot,
	}).Draw(t, "kind")
	op := linearizability.Op{Kind: kind}
	switch kind {
	case trace.OpMalloc:
		return drawMalloc(t, name)
	case trace.OpFree, trace.OpRecordStream:
		names := append([]string{"a0", "a1", "b0", "b1", "c0"}, shared...)
		op.Name = rapid.SampledFrom(names).Draw(t, "name")
		if kind == trace.OpRecordStream {
			op.Stream = 2
		}
	case trace.OpBusy, trace.OpDrain:
		op.Stream = 2
	case trace.OpSetMemoryFraction:
		op.Fraction = rapid.SampledFrom([]float64{0.25, 0.5, 1}).Draw(t, "fraction")
	}
	return op
}
