package fakegpu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
)

func refused(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v, want an error with %q", what, err, words)
	}
}

// TestUnknownStreams: work for a stream that is not there is refused.
func TestUnknownStreams(t *testing.T) {
	g := New(Config{})
	p, err := g.Malloc(0, 512)
	must(t, err)
	for what, err := range map[string]error{
		"Launch":        g.Launch(spec.Launch{Stream: 99}),
		"CopyOut":       g.CopyOut(0, 99, spec.Range{Ptr: p, Bytes: 8}, func([]byte) {}),
		"EndLifetimeOn": g.EndLifetimeOn(0, 99, p, "free"),
	} {
		refused(t, what, err, "there is no stream")
	}
	failure := errors.New("failure")
	must(t, g.FailCall("SynchronizeDevice", 1, failure))
	if err := g.SynchronizeDevice(0); !errors.Is(err, failure) {
		t.Errorf("SynchronizeDevice: %v", err)
	}
	must(t, g.FailCall("Copy", 1, failure))
	if err := g.CopyOut(0, 0, spec.Range{Ptr: p, Bytes: 8}, func([]byte) {}); !errors.Is(err, failure) {
		t.Errorf("CopyOut: %v", err)
	}
	refused(t, "SynchronizeDevice", g.SynchronizeDevice(9), "device 9")
	_, err = g.ReserveAddress(9, 1)
	refused(t, "ReserveAddress", err, "device 9")
}

// TestEndLifetimeOnStream: a free that is work of a stream comes after all work on the memory, or
// it is a hazard.
func TestEndLifetimeOnStream(t *testing.T) {
	for _, waits := range []bool{false, true} {
		g := New(Config{Hazards: true})
		one, two := newStream(t, g), newStream(t, g)
		p, err := g.Malloc(0, 512)
		must(t, err)
		r := spec.Range{Ptr: p, Bytes: 512}
		g.BeginLifetime(Lifetime{Range: r, Number: 1})
		must(t, g.Launch(spec.Launch{Stream: one, Writes: []spec.Range{r}}))
		if waits {
			done, err := g.WaitStream(logged(t, g, two), logged(t, g, one))
			if !done || err != nil {
				t.Fatal(done, err)
			}
		}
		must(t, g.EndLifetimeOn(0, two, p+8, "free")) // no lifetime begins there
		if n := g.HazardCount(); n != 0 {
			t.Errorf("%d hazards before the free", n)
		}
		must(t, g.EndLifetimeOn(0, two, p, "free"))
		if n := g.HazardCount(); (n == 0) != waits {
			t.Errorf("the stream waits: %v, %d hazards", waits, n)
		}
	}
	must(t, New(Config{}).EndLifetimeOn(0, 0, 8, "free")) // nothing is followed
}

func logged(t *testing.T, g *GPU, s spec.Stream) LoggedStream {
	t.Helper()
	found, err := g.LoggedStream(0, s)
	must(t, err)
	return found
}

func newStream(t *testing.T, g *GPU) spec.Stream {
	t.Helper()
	s, err := g.CreateStream(0)
	must(t, err)
	return s
}

// TestWaitStreamOfCaptures: streams of which one is being captured are not made to wait.
func TestWaitStreamOfCaptures(t *testing.T) {
	g := New(Config{})
	captured, other := newStream(t, g), newStream(t, g)
	must(t, g.BeginCapture(0, captured, spec.CaptureRelaxed))
	for _, pair := range [][2]spec.Stream{{captured, other}, {other, captured}} {
		if done, err := g.WaitStream(logged(t, g, pair[0]), logged(t, g, pair[1])); done || err != nil {
			t.Errorf("%v waits for %v: %v, %v", pair[0], pair[1], done, err)
		}
	}
	if _, err := g.LoggedStream(0, 99); err == nil {
		t.Error("a stream that is not there is found")
	}
	first, second := logged(t, g, other), logged(t, g, newStream(t, g))
	must(t, g.DestroyStream(0, other))
	if _, err := g.WaitStream(first, second); err == nil {
		t.Error("a stream that was destroyed waits")
	}
	must(t, g.AddStream(0, other))
	if done, err := g.WaitStream(first, second); !done || err != nil {
		t.Errorf("the next stream with the handle waits: %v, %v", done, err)
	}
}

// TestUnknownGraphInCapture: a graph that is not there is refused, and the capture goes on.
func TestUnknownGraphInCapture(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
	if err := g.LaunchGraph(99, 0, s); err == nil {
		t.Error("a graph that is not there was launched")
	}
	if _, err := g.EndCapture(0, s); err != nil {
		t.Errorf("the capture: %v", err)
	}
}

// TestMemoryOfGraphs: nodes have their types, and memory that a launch has allocated is freed once.
func TestMemoryOfGraphs(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
	kept, err := g.MallocInCapture(0, s, 512)
	must(t, err)
	freed, err := g.MallocInCapture(0, s, 512)
	must(t, err)
	must(t, g.Fill(0, s, spec.Range{Ptr: kept, Bytes: 8}, 1))
	must(t, g.Launch(spec.Launch{Stream: s}))
	must(t, g.HostFunction(0, s, func() {}))
	must(t, g.FreeInCapture(0, s, freed))
	graph, err := g.EndCapture(0, s)
	must(t, err)
	nodes, err := g.GraphNodes(graph)
	must(t, err)
	var types []int
	for _, n := range nodes {
		kind, err := g.NodeType(n)
		must(t, err)
		types = append(types, kind)
	}
	if want := []int{10, 10, 2, 0, 3, 11}; len(types) != 6 || [6]int(types) != [6]int(want) {
		t.Errorf("the nodes have the types %v, want %v", types, want)
	}
	if _, err := g.NodeType(99); err == nil {
		t.Error("a node that is not there has a type")
	}
	failure := errors.New("failure")
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(kept); !found || !errors.Is(err, failure) {
		t.Errorf("a call that fails, before a launch: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err == nil || errors.Is(err, failure) {
		t.Errorf("before a launch: %v, %v", found, err)
	}
	exec, err := g.Instantiate(graph)
	must(t, err)
	must(t, g.LaunchGraph(exec, 0, s))
	if used, reserved := g.GraphMemory(0); used == 0 || used >= reserved {
		t.Errorf("%d of %d bytes are used", used, reserved)
	}
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(kept); !found || !errors.Is(err, failure) {
		t.Errorf("a call that fails: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err != nil {
		t.Errorf("after a launch: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err == nil {
		t.Errorf("again: %v, %v", found, err)
	}
	other, err := g.Malloc(0, 512)
	must(t, err)
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(other); found || err != nil {
		t.Errorf("other memory: %v, %v", found, err)
	}
	if err := g.Free(0, other); !errors.Is(err, failure) {
		t.Errorf("to ask whose the memory is was a call of the driver: the next one gives %v", err)
	}

	// What a launch has allocated stays until it is freed, whatever becomes of the graph.
	must(t, g.LaunchGraph(exec, 0, s))
	must(t, errors.Join(g.DestroyGraphExec(exec), g.DestroyGraph(graph)))
	if used, reserved := g.GraphMemory(0); used != 512 || reserved != 512 {
		t.Errorf("%d of %d bytes are used when the graph is gone", used, reserved)
	}
	if found, err := g.FreeOfGraph(kept); !found || err != nil {
		t.Errorf("when the graph is gone: %v, %v", found, err)
	}
	if used, reserved := g.GraphMemory(0); used != 0 || reserved != 0 || g.IsOfGraph(kept) {
		t.Errorf("%d of %d bytes are used when the memory is freed as well", used, reserved)
	}
	again := newStream(t, g)
	must(t, g.BeginCapture(0, again, spec.CaptureRelaxed))
	must(t, g.Launch(spec.Launch{Stream: again}))
	status, err := g.CaptureStatus(0, again)
	must(t, err)
	_, err = g.NodeType(status.Terminals[0])
	must(t, err)
	g.Exit()
	if _, err := g.NodeType(status.Terminals[0]); err == nil {
		t.Error("a node of a process that has ended has a type")
	}
}

// TestExitEndsWork: what a process that ends has given to its streams is over.
func TestExitEndsWork(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.Busy(0, s))
	handle, err := g.CreateEvent(0)
	must(t, err)
	must(t, g.RecordEvent(handle, 0, s))
	e := g.events[handle]
	if e.mark.complete() {
		t.Fatal("the event is complete at once")
	}
	g.Exit()
	if !e.mark.complete() {
		t.Error("the event is not complete")
	}
}

// TestGapsOfRanges: a range is placed in a gap that is just large enough.
func TestGapsOfRanges(t *testing.T) {
	r := newRealLike(0)
	var at [3]spec.Ptr
	for i := range at {
		at[i] = r.PlaceRange(realRangeStep)
	}
	r.VacateRange(at[1], realRangeStep)
	if got := r.PlaceRange(realRangeStep + 1); got <= at[2] {
		t.Errorf("a range that is too large for the gap is at %v", got)
	}
	if got := r.PlaceRange(realRangeStep); got != at[1] {
		t.Errorf("the range is at %v, and the gap at %v", got, at[1])
	}
}

// TestDurationOfWork: a nanosecond for each thousand bytes, and a microsecond.
func TestDurationOfWork(t *testing.T) {
	for bytes, want := range map[uint64]int64{0: 1000, 999: 1000, 1000: 1001, 1999: 1001} {
		w := &work{reads: []spec.Range{{Bytes: bytes / 2}}, writes: []spec.Range{{Bytes: bytes - bytes/2}}}
		if got := w.duration().Nanoseconds(); got != want {
			t.Errorf("%d bytes: %d ns, want %d", bytes, got, want)
		}
	}
}

// TestEqualPatchesMerge: patches beside each other that were used alike become one.
func TestEqualPatchesMerge(t *testing.T) {
	u := &uses{}
	var list []*patch
	for _, at := range []spec.Ptr{0x100, 0x200, 0x300, 0x500, 0x600} {
		p := &patch{Range: spec.Range{Ptr: at, Bytes: 0x100}}
		u.patches.Set(at, p)
		list = append(list, p)
	}
	u.merge(list)
	all := u.patches.Values()
	if len(all) != 2 || all[0].Range != (spec.Range{Ptr: 0x100, Bytes: 0x300}) || all[1].Range != (spec.Range{Ptr: 0x500, Bytes: 0x200}) {
		t.Errorf("%d patches: %v", len(all), all)
	}
}

// TestChoicesOfRanges: a range that the script has not been told may lie behind the highest range,
// or before the lowest.
func TestChoicesOfRanges(t *testing.T) {
	const step = spec.Ptr(rangeAlignment)
	var got Choice
	s := &Script{
		held:   []spec.Range{{Ptr: 4 * step, Bytes: 1}, {Ptr: 8 * step, Bytes: 2 * rangeAlignment}},
		vacant: func(spec.Range) bool { return true },
		choose: func(c Choice) spec.Ptr { got = c; return c.Candidates[0] },
	}
	if base := s.nextBase(rangeAlignment + 1); base != 10*step {
		t.Errorf("the base is %v", base)
	}
	if want := []spec.Ptr{10 * step, 2 * step}; !slices.Equal(got.Candidates, want) || !got.Reserve {
		t.Errorf("the candidates are %v, want %v", got.Candidates, want)
	}
}

// TestThreadsThatEnd: whoever has the number of a thread that has ended is another thread.
func TestThreadsThatEnd(t *testing.T) {
	g := New(Config{Hazards: true})
	s := newStream(t, g)
	must(t, g.Launch(spec.Launch{Stream: s}))
	before := g.Known()
	g.SetThread(1)
	g.SeeStream(logged(t, g, s))
	if before.CoversAll(g.Known()) {
		t.Fatal("the thread has seen nothing")
	}
	g.SetThread(0)
	g.EndThread(1)
	g.SetThread(1)
	if !before.CoversAll(g.Known()) {
		t.Error("a new thread has seen what an earlier one saw")
	}
}

// TestDigestsOfHostMemory: each byte counts, and where it is.
func TestDigestsOfHostMemory(t *testing.T) {
	digest := func(memory ...byte) uint64 {
		return digestHost([]part{{backing: &backing{host: memory}, to: uint64(len(memory))}})
	}
	seen := map[uint64]string{}
	for at := range 17 {
		memory := make([]byte, 17)
		memory[at] = 1
		seen[digest(memory...)] = "one byte"
	}
	seen[digest(make([]byte, 17)...)] = "zero"
	if len(seen) != 18 {
		t.Errorf("%d different digests of 18 different contents", len(seen))
	}
}

// TestWithoutEffects: kernels change nothing, whether they are done at once or behind a gate; what
// the host is called for is.
func TestWithoutEffects(t *testing.T) {
	for _, effects := range []bool{true, false} {
		g := New(Config{})
		if !effects {
			g.WithoutEffects()
		}
		held := newStream(t, g)
		p, err := g.Malloc(0, 512)
		must(t, err)
		called := 0
		for _, s := range []spec.Stream{0, held} {
			if s == held {
				must(t, g.Busy(0, s))
			}
			r := spec.Range{Ptr: p, Bytes: 256}
			must(t, g.Launch(spec.Launch{Stream: s, Writes: []spec.Range{r, {Ptr: p + 4096, Bytes: 8}}}))
			must(t, g.HostFunction(0, s, func() { called++ }))
			if s == held {
				must(t, g.Drain(0, s))
			}
			if n := len(g.Violations()); (n > 0) != effects {
				t.Errorf("effects %v: %d violations", effects, n)
			}
		}
		written, err := g.ReadBack(0, 0, spec.Range{Ptr: p, Bytes: 8})
		must(t, err)
		if unwritten := written[0] == 0xa5 && written[7] == 0xa5; unwritten == effects {
			t.Errorf("effects %v: the memory holds %x", effects, written)
		}
		if called != 2 {
			t.Errorf("effects %v: %d functions of the host's were called, want 2", effects, called)
		}
	}
}

// TestHazardCount: nothing needs to have turned the detection of hazards on.
func TestHazardCount(t *testing.T) {
	g := New(Config{})
	if n := g.HazardCount(); n != 0 {
		t.Errorf("%d hazards before detection is on", n)
	}
	g.BeginLifetime(Lifetime{Range: spec.Range{Ptr: 512, Bytes: 512}})
	if n := g.HazardCount(); n != 1 || n != len(g.Hazards()) {
		t.Errorf("%d hazards, and %d are listed, want 1", n, len(g.Hazards()))
	}
}
