package conformance

import (
	"math"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// misuseCall is a call that has to be refused.
type misuseCall struct {
	kind   string // of misuse, as classes have it
	what   string
	answer string // the name of the error, see spec.ErrorName
	call   func() error
}

// The classes of failures that only a probe can find again.
const (
	probeAccepted = "misuse accepted: " // and the kind
	probeChanged  = "misuse changed"
)

// probe makes calls that no operation of a trace can be: calls about memory that is not
// allocated. All of them must be refused, and none may change anything. It adds no operation to
// the program, which is the same with and without it.
func (t *Trial) probe() (f *Failure) {
	if t.options.trusting {
		return nil
	}
	defer t.catch(&f)
	before := t.snapshot()
	for _, try := range t.misuseCalls() {
		if t.overlooks(probeAccepted + try.kind) {
			continue
		}
		if got := trace.ErrorName(try.call()); got != try.answer {
			return t.fail(probeAccepted+try.kind, "%s should be refused as %s, the answer is %q", try.what, try.answer, got)
		}
	}
	for dev := range t.now {
		t.before[dev].stats = t.now[dev].stats
	}
	if err := t.look(); err != nil {
		return t.fail(classUnseen, "%v", err)
	}
	return t.checkUntouched(before, "a call about memory that is not allocated")
}

// misuseCalls are what is tried. Of streams only that is tried which the programs do
// as well.
func (t *Trial) misuseCalls() []misuseCall {
	a, elsewhere := t.player.Allocator(), spec.Device(t.header.Devices)
	streams := t.program.area.has(trace.OpRecordStream)
	calls := []misuseCall{
		{"malloc elsewhere", "a malloc on a device that is not there", trace.ErrorInvalidArgument, func() error {
			_, err := a.Malloc(spec.Request{Device: elsewhere, Bytes: 512})
			return err
		}},
		{"malloc of 2^64-1 bytes", "a malloc of 2^64-1 bytes", trace.ErrorOOM, func() error {
			_, err := a.Malloc(spec.Request{Bytes: math.MaxUint64})
			return err
		}},
	}
	if good := t.goodPointer(); streams && good != 0 {
		calls = append(calls, misuseCall{"record_stream elsewhere", "a record_stream of a device that is not there", trace.ErrorInvalidArgument, func() error {
			return a.RecordStream(good, elsewhere, 0)
		}})
	}
	for _, bad := range t.badPointers() {
		calls = append(calls, misuseCall{"free", "a free of " + bad.String(), trace.ErrorInvalidPointer, func() error { return a.Free(bad) }})
		if streams {
			calls = append(calls, misuseCall{"record_stream", "a record_stream of " + bad.String(), trace.ErrorInvalidPointer, func() error { return a.RecordStream(bad, 0, 0) }})
		}
	}
	return calls
}

// badPointers are one that was never returned, and, if there are such, the one that
// was freed last, one inside a block and one of a block that nobody has.
func (t *Trial) badPointers() []spec.Ptr {
	bad := []spec.Ptr{0x7fff_ffff_f000}
	if p := t.freed; p != 0 && !t.isAllocated(p) {
		bad = append(bad, p)
	}
	if p := t.goodPointer(); p != 0 {
		bad = append(bad, p+1)
	}
	for _, p := range t.now {
		for _, b := range p.blocks {
			if b.state != spec.ActiveAllocated {
				return append(bad, b.address) // free, or freed and still used
			}
		}
	}
	return bad
}

func (t *Trial) isAllocated(p spec.Ptr) bool {
	return slices.ContainsFunc(t.program.memory, func(m *memory) bool { return m.ptr == p })
}

// goodPointer is one that is allocated, null if there is none.
func (t *Trial) goodPointer() spec.Ptr {
	for _, m := range t.program.memory {
		if m.size > 1 && !m.lent {
			return m.ptr
		}
	}
	return 0
}
