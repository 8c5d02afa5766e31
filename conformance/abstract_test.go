package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/model/abstract"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Level safe and AbstractMemory.tla are the same promise: what a malloc returns is in
// no other allocation, and no other stream has work on it. Here both judge the same steps.
//
// A program mallocs, records streams, frees, and lets work complete, on two streams that
// are always busy, so that work is pending from each free until a stream is drained. The
// answers of the allocator are scripted: every address that there is, or out of memory, and
// before it a wait for some of the streams. So every state of such programs is reached, and
// every answer is tried in each. The abstract memory (package abstract, which has the steps
// of the TLA+ text) says whether the step is one of its own. The kit runs the program and
// says whether it finds a failure. A failure is expected where there is no step, and
// nowhere else.
//
// Work completes here only in waits. Where it completes and nobody knows, the kit is
// stricter: see TestLuck.

// unitBytes is one byte of the abstract memory: the smallest block.
const unitBytes = 512

// abstractProgram is a program and its abstract state.
type abstractProgram struct {
	state    abstract.State
	answered abstract.State // before the use that follows a malloc
	ids      map[int]int64  // of the allocations, by name
	ops      []trace.Op
	answers  []scriptedAnswer // to the mallocs among them
	refuses  trace.OpKind     // calls that are refused
}

// scriptedAnswer is what a malloc does.
type scriptedAnswer struct {
	at    int   // the address returned; -1: out of memory
	waits []int // for these streams, first
}

// newAbstractProgram has busy streams.
func newAbstractProgram(m *abstract.Machine) abstractProgram {
	p := abstractProgram{state: abstract.Initial(m.Streams, 0), ids: map[int]int64{}}
	for stream := 1; stream <= m.Streams; stream++ {
		p.ops = append(p.ops, trace.Op{Kind: trace.OpBusy, Stream: stream})
	}
	return p
}

// then is the program with more operations.
func (p abstractProgram) then(ops ...trace.Op) abstractProgram {
	p.ops = append(slices.Clone(p.ops), ops...)
	p.ids = maps.Clone(p.ids)
	return p
}

// idle: all work of a stream has completed.
func (p *abstractProgram) idle(stream int) {
	counts := make([]int, len(p.state.Queues))
	counts[stream-1] = len(p.state.Queues[stream-1])
	p.state = p.state.Complete(counts)
}

// malloc is the program after a malloc and, if it returns memory, a use of the memory.
// Streams that were waited for are made busy again. The allocator has all memory from the first
// malloc on.
func (p abstractProgram) malloc(m *abstract.Machine, stream, bytes int, a scriptedAnswer) abstractProgram {
	id := int64(len(p.answers) + 1)
	next := p.then(trace.Op{Kind: trace.OpMalloc, Stream: stream, Size: uint64(bytes) * unitBytes, ID: id})
	next.answers = append(slices.Clone(p.answers), a)
	next.state.Granted = []abstract.Bytes{abstract.Range(0, m.Bytes-1)}
	for _, waited := range a.waits {
		next.idle(waited)
		next.ops = append(next.ops, trace.Op{Kind: trace.OpBusy, Stream: waited})
	}
	next.answered = next.state
	if a.at < 0 {
		return next
	}
	memory, name := abstract.Range(a.at, a.at+bytes-1), a.at
	if slices.ContainsFunc(p.state.Held, func(x abstract.Allocation) bool { return x.Name == name }) {
		name += m.Bytes
	}
	next.state.Held = p.state.Take(abstract.Allocation{Name: name, Memory: memory, Stream: stream})
	next.ids[name] = id
	next.answered = next.state
	next.state = next.state.Used(stream, memory)
	next.ops = append(next.ops, trace.Op{Kind: trace.OpKernel, Stream: stream, Writes: []trace.OpRange{{ID: id}}})
	return next
}

func (p abstractProgram) recordStream(x abstract.Allocation, stream int) abstractProgram {
	next := p.then(trace.Op{Kind: trace.OpRecordStream, Stream: stream, ID: p.ids[x.Name]})
	recorded := x
	recorded.Users = x.Users.With(stream)
	next.state.Held = abstract.State{Held: p.state.Without(x.Name)}.Take(recorded)
	next.answered = next.state
	return next
}

// free: the recorded streams have used the memory.
func (p abstractProgram) free(x abstract.Allocation) abstractProgram {
	next := p.then(trace.Op{Kind: trace.OpFree, ID: p.ids[x.Name]})
	next.state.Held = p.state.Without(x.Name)
	for stream := 1; stream <= len(p.state.Queues); stream++ {
		if x.Users.Has(stream) {
			next.state = next.state.Used(stream, x.Memory)
		}
	}
	next.answered = next.state
	return next
}

// synchronize: the host waits for a stream.
func (p abstractProgram) synchronize(stream int) abstractProgram {
	next := p.then(trace.Op{Kind: trace.OpSynchronize, Stream: stream}, trace.Op{Kind: trace.OpBusy, Stream: stream})
	next.idle(stream)
	next.answered = next.state
	return next
}

// isLong reports whether a queue has more pieces than programs go on from.
func (p *abstractProgram) isLong() bool {
	return slices.ContainsFunc(p.state.Queues, func(q []abstract.Piece) bool { return len(q) > 2 })
}

// next lists the programs with one operation more, with every answer.
func (p abstractProgram) next(m *abstract.Machine) (list []abstractProgram) {
	for stream := 1; stream <= m.Streams; stream++ {
		list = append(list, p.synchronize(stream))
		for _, waits := range [][]int{nil, {1}, {2}, {1, 2}} {
			for _, bytes := range m.Sizes {
				for at := -1; at+bytes <= m.Bytes; at++ {
					list = append(list, p.malloc(m, stream, bytes, scriptedAnswer{at, waits}))
				}
			}
		}
	}
	for _, x := range p.state.Held {
		list = append(list, p.free(x))
		for stream := 1; stream <= m.Streams; stream++ {
			if stream != x.Stream {
				list = append(list, p.recordStream(x, stream))
			}
		}
	}
	return list
}

// failed reports whether the last step, after a program, is a malloc that is out of memory.
func (p *abstractProgram) failed(before *abstractProgram) bool {
	return len(p.answers) > len(before.answers) && p.answers[len(p.answers)-1].at < 0
}

func (p *abstractProgram) inWords() string {
	var lines []string
	for i := range p.ops {
		lines = append(lines, p.ops[i].InWords())
	}
	return strings.Join(lines, "\n")
}

// verdict is the class of the failure that the kit finds, or "" if it finds none.
func (p *abstractProgram) verdict(m *abstract.Machine, before int) (string, error) {
	area := Find("core")
	header := area.header(1, "")
	header.Waits, header.TotalMemory = true, uint64(m.Bytes)*unitBytes
	r := area.replayOps(header, 1, slices.Clone(p.ops), Options{
		New: func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
			return &scripted{driver: driver, streams: h.Streams, bytes: h.TotalMemory, answers: p.answers, refuses: p.refuses}, nil
		},
		Every: 1, trusting: true,
	})
	if r.Failure == nil {
		if r.performed != len(p.ops) {
			return "", fmt.Errorf("the kit performs %d of %d operations", r.performed, len(p.ops))
		}
		return "", nil
	}
	if len(r.Failure.Ops) <= before {
		return "", fmt.Errorf("the kit finds a failure in the program before its last step: %w", r.Failure)
	}
	return r.Failure.Class, nil
}

// TestAbstractMemory: the kit finds a failure exactly where AbstractMemory.tla has no step.
func TestAbstractMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("a search of one goroutine, of which the race detector sees nothing")
	}
	m := &abstract.Machine{Bytes: 2, Streams: 2, Sizes: []int{1, 2}}
	queue, seen := []abstractProgram{newAbstractProgram(m)}, map[string]bool{}
	found, failing := map[string]int{}, 0 // how many steps, by verdict; of those without one, mallocs that fail
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		for _, next := range p.next(m) {
			class, err := next.verdict(m, len(p.ops))
			if err != nil {
				t.Fatalf("%v: %v", next.inWords(), err)
			}
			found[class]++
			if class == "" && next.failed(&p) {
				failing++
			}
			isStep := m.IsStep(p.state, next.answered)
			if isStep != (class == "") {
				t.Fatalf("from\n%s\nto\n%s\nAbstractMemory.tla has such a step: %v; the kit finds %q\n%s\nanswers: %v",
					m.Text(nil, p.state), m.Text(nil, next.answered), isStep, class, next.inWords(), next.answers)
			}
			if key := string(m.Key(nil, next.state)); isStep && !seen[key] && !next.isLong() {
				seen[key] = true
				queue = append(queue, next)
			}
		}
	}
	t.Logf("%d states, steps by verdict: %v; %d mallocs that fail are accepted", len(seen), found, failing)
	for _, class := range []string{"", "LiveBlocksDisjoint", noReuseWhileInUse} {
		if found[class] == 0 {
			t.Errorf("no step has the verdict %q", class)
		}
	}
}

// TestLuck: memory is taken by another stream after its stream's work has completed, and
// nobody has waited. An abstract memory has such a step, and has none while the work is
// pending: it judges an allocator by all of its behaviours. The kit has one run, and
// accuses whoever was only lucky in it.
func TestLuck(t *testing.T) {
	m := &abstract.Machine{Bytes: 1, Streams: 2, Sizes: []int{1}}
	p := newAbstractProgram(m).malloc(m, 1, 1, scriptedAnswer{})
	p = p.free(p.state.Held[0])
	luck := p.then(trace.Op{Kind: trace.OpDrain, Stream: 1})
	luck.idle(1)
	for _, test := range []struct {
		before abstractProgram
		isStep bool
		class  string
	}{
		{p, false, noReuseWhileInUse},
		{luck, true, "hazard"},
		{p.synchronize(1), true, ""},
	} {
		after := test.before.malloc(m, 2, 1, scriptedAnswer{})
		class, err := after.verdict(m, len(test.before.ops))
		if err != nil {
			t.Fatal(err)
		}
		if isStep := m.IsStep(test.before.state, after.answered); isStep != test.isStep || class != test.class {
			t.Errorf("%s\nAbstractMemory.tla has such a step: %v; the kit finds %q", after.inWords(), isStep, class)
		}
	}
}

// TestRefusal: an abstract memory frees and records every allocation (CallsAreAccepted in
// Refinement.tla). The kit accuses an allocator that refuses what the program holds.
func TestRefusal(t *testing.T) {
	m := &abstract.Machine{Bytes: 1, Streams: 2, Sizes: []int{1}}
	held := newAbstractProgram(m).malloc(m, 1, 1, scriptedAnswer{})
	x := held.state.Held[0]
	for _, next := range []abstractProgram{held.free(x), held.recordStream(x, 2)} {
		last := next.ops[len(next.ops)-1].Kind
		for _, refuses := range []trace.OpKind{"", last} {
			next.refuses = refuses
			class, err := next.verdict(m, len(held.ops))
			if err != nil {
				t.Fatal(err)
			}
			if (class != "") != (refuses != "") {
				t.Errorf("an allocator that refuses %q: the kit finds %q in\n%s", refuses, class, next.inWords())
			}
		}
	}
}

// scripted gives the answers that it was made with, right or wrong.
type scripted struct {
	driver  spec.Driver
	streams []spec.Stream
	bytes   uint64
	answers []scriptedAnswer
	refuses trace.OpKind
	base    spec.Ptr // of all the memory, from the first malloc on; 0: the driver has it
}

func (s *scripted) Malloc(r spec.Request) (spec.Ptr, error) {
	if s.base == 0 {
		base, err := s.driver.Malloc(r.Device, s.bytes)
		if err != nil {
			return 0, err
		}
		s.base = base
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	for _, stream := range a.waits {
		if err := s.driver.SynchronizeStream(r.Device, s.streams[stream]); err != nil {
			return 0, err
		}
	}
	if a.at < 0 {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	return s.base + spec.Ptr(a.at*unitBytes), nil
}

func (s *scripted) Free(ptr spec.Ptr) error { return s.accept(trace.OpFree, ptr) }

func (s *scripted) RecordStream(ptr spec.Ptr, _ spec.Device, _ spec.Stream) error {
	return s.accept(trace.OpRecordStream, ptr)
}

func (s *scripted) accept(call trace.OpKind, ptr spec.Ptr) error {
	if call == s.refuses {
		return &spec.InvalidPointerError{Op: string(call), Ptr: ptr}
	}
	return nil
}

// EmptyCache is called at the end of a program.
func (s *scripted) EmptyCache() error {
	if s.base == 0 {
		return nil
	}
	base := s.base
	s.base = 0
	return s.driver.Free(0, base)
}

func (s *scripted) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "statistics", Reason: "none are kept"}
}

func (s *scripted) Snapshot() (spec.Snapshot, error) {
	return spec.Snapshot{}, &spec.NotSupportedError{Op: "snapshot", Reason: "there is none"}
}
