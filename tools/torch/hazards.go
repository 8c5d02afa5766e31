package torch

import (
	"slices"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Programs give work to streams, and the fake device that PyTorch's allocator runs on watches
// whether two pieces of work on the same memory are in order (fakegpu.Hazard). Programs are
// careful (conformance), so a hazard is the allocator's: it has reused or released
// memory too early. One program in eight also does what PyTorch is known to forget; the
// reference does the same then, and the same hazard on its device shows that.

// exposes reports whether a program does what PyTorch forgets.
func exposes(h *trace.Header) bool { return h.Seed%8 == 4 }

// invalidates reports whether a program makes calls that invalidate captures.
func invalidates(h *trace.Header) bool { return h.Seed/32%8 == 1 }

// prepare lets a program do what most do not.
func prepare(p *conformance.Program, h *trace.Header) {
	if exposes(h) {
		p.ExposeForgottenUses()
	}
	if invalidates(h) {
		p.InvalidateCaptures()
	}
}

// newProgram is a program of the area with the header, that has done nothing yet.
func newProgram(area *conformance.Area, h trace.Header) *conformance.Program {
	p := area.NewProgram(h)
	prepare(p, &h)
	return p
}

// Watch makes PyTorch's device look for hazards in what the program does.
func (p *Pair) Watch(program *conformance.Program) { p.lifetimes = program.Lifetimes(p.pytorch.GPU()) }

// hazard is the first on PyTorch's device.
func (p *Pair) hazard() *fakegpu.Hazard { return firstHazard(p.pytorch.GPU()) }

func firstHazard(g *fakegpu.GPU) *fakegpu.Hazard {
	if found := g.Hazards(); len(found) > 0 {
		return &found[0]
	}
	return nil
}

// watched performs an operation and lets the device know of lifetimes.
func watched(player *perform.Player, lifetimes *conformance.Lifetimes, op *trace.Op, out *perform.Result) {
	if lifetimes == nil {
		*out = player.Perform(op)
		return
	}
	undo := lifetimes.Before(op)
	if *out = player.Perform(op); out.Err != nil {
		undo()
	}
	lifetimes.After(op, out)
}

// Rows of hazards; both have that of the first three.
const (
	rowUsedBefore   = "kept/use-before-capture"
	rowNotCaptured  = "kept/use-not-captured"
	rowJoinsCapture = "kept/use-joins-capture"
	rowHandleAlone  = "streams/default-of-other-device"
	rowRemembered   = "captures/use-remembered"
)

// hazardRules are tried in this order for a hazard.
var hazardRules = []rule{
	{rowJoinsCapture, func(m *mismatch) bool { return m.forgot(rowJoinsCapture) }},
	{rowUsedBefore, func(m *mismatch) bool { return m.forgot(rowUsedBefore) }},
	{rowNotCaptured, func(m *mismatch) bool { return m.forgot(rowNotCaptured) }},
	{"expandable/unmap-current-device", (*mismatch).unmappedElsewhere},
	{rowHandleAlone, (*mismatch).droppedDefault},
	{rowRemembered, (*mismatch).droppedUse},
}

// use is a stream that was recorded for memory.
type use struct {
	on       spec.DeviceStream
	captured bool // the stream was being captured
	routed   bool // requests were routed to a pool, so that PyTorch took it for a use in a graph
}

// freedUse is memory that was freed, with a stream that uses it.
type freedUse struct {
	at spec.Ptr
	on spec.DeviceStream
}

// forgottenUse is a use that was not waited for when memory was freed.
type forgottenUse struct {
	freedUse
	row string
}

// uses records what the operation, which the reference has performed, says about uses.
func (m *mismatch) uses(op *trace.Op, g *fakegpu.GPU) {
	f := &m.facts
	on := spec.DeviceStream{Device: op.Device, Stream: m.Header.Streams[op.Stream]}
	switch op.Kind {
	case trace.OpRecordStream:
		f.uses[op.ID] = append(f.uses[op.ID], use{on, capturing(g, on), len(f.begun) > 0})
	case trace.OpFree:
		for _, u := range f.uses[op.ID] {
			freed := freedUse{f.places[op.ID], u.on}
			if row := m.forgets(g, u, f.uses[op.ID]); row != "" {
				f.forgotten = append(f.forgotten, forgottenUse{freed, row})
			} else {
				f.waitedFor = append(f.waitedFor, freed)
			}
		}
		delete(f.uses, op.ID)
	}
}

// forgets is the row by which a use of memory that is freed now is not waited for; "" if it is.
func (m *mismatch) forgets(g *fakegpu.GPU, u use, all []use) string {
	again := slices.ContainsFunc(all, func(o use) bool { return o.on == u.on && o.routed != u.routed })
	switch {
	case len(m.facts.begun) == 0:
		return ""
	case m.config.GraphCaptureRecordStreamReuse && !u.captured && capturing(g, u.on):
		return rowJoinsCapture
	case again:
		return rowUsedBefore
	case u.routed && !u.captured:
		return rowNotCaptured
	}
	return ""
}

func capturing(g *fakegpu.GPU, on spec.DeviceStream) bool {
	status, err := g.CaptureStatus(on.Device, on.Stream)
	return err == nil && status.Status != spec.CaptureNone
}

// forgot reports whether both devices have the hazard, and its earlier access is by a use
// that was forgotten as the row says.
func (m *mismatch) forgot(row string) bool {
	first := m.Difference.hazard.First
	return first != nil && m.same != nil && m.same.Kind == m.Difference.hazard.Kind &&
		slices.ContainsFunc(m.facts.forgotten, func(f forgottenUse) bool {
			return f.row == row && f.at == first.Lifetime.Range.Ptr && f.on == spec.DeviceStream{Device: first.Device, Stream: first.Stream}
		})
}

// droppedUse: PyTorch has not waited for a stream that was recorded for the memory, since one
// was remembered for the block's address in the heap. If both have forgotten that use, it has not waited
// for the stream for other memory, as the reference has.
func (m *mismatch) droppedUse() bool {
	first := m.Difference.hazard.First
	if m.same != nil || first == nil || !m.facts.remembered {
		return false
	}
	of := freedUse{first.Lifetime.Range.Ptr, spec.DeviceStream{Device: first.Device, Stream: first.Stream}}
	forgotten := slices.ContainsFunc(m.facts.forgotten, func(f forgottenUse) bool { return f.freedUse == of })
	return slices.ContainsFunc(m.facts.waitedFor, func(u freedUse) bool {
		return u == of || forgotten && u.on == of.on
	})
}

// droppedDefault: the earlier access is by the default stream of another device than that of the
// memory, which was allocated on a default stream as well. The use was recorded, and PyTorch has
// dropped it.
func (m *mismatch) droppedDefault() bool {
	first := m.Difference.hazard.First
	return m.same == nil && first != nil && first.Stream == 0 && first.Lifetime.Stream == 0 && first.Device != first.Lifetime.Device &&
		slices.Contains(m.facts.waitedFor, freedUse{first.Lifetime.Range.Ptr, spec.DeviceStream{Device: first.Device}})
}

// unmappedElsewhere: the memory was unmapped, and PyTorch has waited for another device's
// default stream.
func (m *mismatch) unmappedElsewhere() bool {
	h := m.Difference.hazard
	current := m.facts.current
	if m.op.Kind == trace.OpMalloc {
		current = m.op.Device
	}
	return m.same == nil && h.Kind == fakegpu.Returned && h.First.Stream == 0 && h.First.Lifetime.Stream == 0 &&
		h.First.Device == h.First.Lifetime.Device && h.First.Device != current
}
