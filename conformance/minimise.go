package conformance

import (
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A failure is found at the end of a program of some hundred operations, of which a few matter.
// The minimiser leaves out large pieces first, then single operations. Then it makes the rest
// simpler: fewer streams, smaller sizes, the first stream, no thread. A shorter program counts
// if it fails in the same class. An operation that needs one that was left out is left out too
// (Program.Prepare), so that every candidate is a sensible program.

// minimiser shortens the program of one failure.
type minimiser struct {
	area    *Area
	options Options
	best    *Failure
	spent   int // operations of all candidates
}

// effort is how many operations are performed to make a failure shorter.
const effort = 400_000

// Minimise returns the shortest failure of the same class that it finds.
func Minimise(f *Failure, o Options) *Failure {
	area := f.area
	if area == nil || len(f.Ops) == 0 {
		return f
	}
	o.Every = 1
	o.probing = strings.HasPrefix(f.Class, probeAccepted) || f.Class == probeChanged
	m := minimiser{area: area, options: o, best: f}
	for before := -1; before != m.weight() && m.spent < effort; {
		before = m.weight()
		m.dropPieces()
		m.fewerAndLarger()
		m.mergeRequests()
		m.dropPairs()
		m.mergeStreams()
		m.simplifyHeader()
		m.simplify()
	}
	found := *m.best
	found.Found = f.Found
	return &found
}

// weight falls with everything that gets simpler.
func (m *minimiser) weight() int {
	w := 1000*len(m.best.Ops) + len(m.best.Header.Settings) + int(m.best.Header.TotalMemory>>20)
	for i := range m.best.Ops {
		op := &m.best.Ops[i]
		w += op.Stream + int(op.Thread) + int(op.Size>>18) + len(op.Reads) + len(op.Writes)
	}
	return w
}

// try runs a candidate and keeps it if it fails in the same class and is no longer.
func (m *minimiser) try(h trace.Header, ops []trace.Op) bool {
	if m.spent > effort || m.options.roomy && requested(ops) > h.TotalMemory {
		return false
	}
	r := m.area.replayOps(h, m.best.Seed, ops, m.options)
	m.spent += r.Checked
	f := r.Failure
	if f != nil && f.Class == classHang {
		m.spent += effort / 50 // it takes long to see that a call does not come back
	}
	if f == nil || f.Class != m.best.Class || len(f.Ops) > len(m.best.Ops) {
		return false
	}
	m.best = f
	return true
}

// dropPieces leaves out pieces of half the length, a quarter, and so on, from the
// end to the beginning.
func (m *minimiser) dropPieces() {
	for size := max(len(m.best.Ops)/2, 1); size >= 1; size /= 2 {
		for end := len(m.best.Ops); end > 0; end -= size {
			ops := m.best.Ops
			end = min(end, len(ops))
			candidate := slices.Concat(ops[:max(end-size, 0)], ops[end:])
			if len(candidate) < len(ops) {
				m.try(m.best.Header, candidate)
			}
		}
	}
}

// fewerAndLarger makes every second request twice as large and leaves the others out, as often as
// that fails: memory runs out after few large requests as after many small ones.
func (m *minimiser) fewerAndLarger() {
	for fewer := true; fewer; {
		var candidate []trace.Op
		requests := 0
		for _, op := range m.best.Ops {
			if op.Kind == trace.OpMalloc {
				if requests++; requests%2 == 0 {
					continue
				}
				op.Size *= 2
			}
			candidate = append(candidate, op)
		}
		fewer = requests > 1 && m.try(m.best.Header, candidate)
	}
}

// mergeRequests makes one request of two on the same stream.
func (m *minimiser) mergeRequests() {
	for later := len(m.best.Ops) - 1; later > 0; later-- {
		for earlier := later - 1; earlier >= 0 && later < len(m.best.Ops); earlier-- {
			first, second := m.best.Ops[earlier], m.best.Ops[later]
			if first.Kind != trace.OpMalloc || second.Kind != trace.OpMalloc || first.Stream != second.Stream || first.Device != second.Device {
				continue
			}
			candidate := slices.Delete(slices.Clone(m.best.Ops), later, later+1)
			candidate[earlier].Size += second.Size
			m.try(m.best.Header, candidate)
		}
	}
}

// dropPairs leaves out two operations at a time, of programs that are short: a begin
// and its end, or a wait that the other makes up for.
func (m *minimiser) dropPairs() {
	const short = 24
	if len(m.best.Ops) > short {
		return
	}
	for i := 0; i < len(m.best.Ops); i++ {
		for j := i + 1; j < len(m.best.Ops); j++ {
			ops := m.best.Ops
			m.try(m.best.Header, slices.Concat(ops[:i], ops[i+1:j], ops[j+1:]))
		}
	}
}

// mergeStreams lets one stream do what two did, and drops the waits between the two.
func (m *minimiser) mergeStreams() {
	for from := len(m.best.Header.Streams) - 1; from > 0; from-- {
		for to := range from {
			candidate := slices.Clone(m.best.Ops)
			changed := false
			for i := range candidate {
				for _, stream := range []*int{&candidate[i].Stream, &candidate[i].On} {
					if *stream == from {
						*stream, changed = to, true
					}
				}
			}
			if changed {
				m.try(m.best.Header, candidate)
			}
		}
	}
}

// simplifyHeader tries without settings, and on a smaller device, which is full
// sooner.
func (m *minimiser) simplifyHeader() {
	h := m.best.Header
	h.Settings = ""
	if h.Settings != m.best.Header.Settings {
		m.try(h, m.best.Ops)
	}
	for smaller := !m.options.roomy; smaller && m.best.Header.TotalMemory > 64*spec.MiB; {
		h = m.best.Header
		h.TotalMemory /= 2
		smaller = m.try(h, m.best.Ops)
	}
}

// simplify changes one operation at a time.
func (m *minimiser) simplify() {
	for i := range m.best.Ops {
		for _, simpler := range simplifications {
			if i >= len(m.best.Ops) {
				return
			}
			op := m.best.Ops[i]
			if !simpler(&op) {
				continue
			}
			candidate := slices.Clone(m.best.Ops)
			candidate[i] = op
			m.try(m.best.Header, candidate)
		}
	}
}

// simplifications change an operation, or report that there is nothing to change.
var simplifications = []func(op *trace.Op) bool{
	func(op *trace.Op) bool { return shrinkSize(op, 512) },
	func(op *trace.Op) bool { return shrinkSize(op, 2*spec.MiB) },
	func(op *trace.Op) bool { return shrinkSize(op, op.Size/2) },
	func(op *trace.Op) bool { return shrinkSize(op, op.Size&^(spec.MiB-1)) },
	func(op *trace.Op) bool {
		changed := op.Stream > 0
		op.Stream = 0
		return changed
	},
	func(op *trace.Op) bool {
		changed := op.Stream > 1
		op.Stream--
		return changed
	},
	func(op *trace.Op) bool {
		changed := op.Thread > 0
		op.Thread = 0
		return changed
	},
	func(op *trace.Op) bool {
		changed := op.Kind == trace.OpKernel && len(op.Reads) > 0
		op.Reads = nil
		return changed
	},
	func(op *trace.Op) bool {
		changed := op.Kind == trace.OpKernel && len(op.Writes) > 0
		op.Writes = nil
		return changed
	},
}

func shrinkSize(op *trace.Op, to uint64) bool {
	if op.Kind != trace.OpMalloc || to >= op.Size || to == 0 {
		return false
	}
	op.Size = to
	return true
}

// requested is how many bytes operations request together.
func requested(ops []trace.Op) (bytes uint64) {
	for i := range ops {
		if ops[i].Kind == trace.OpMalloc || ops[i].Kind == trace.OpResize {
			bytes += ops[i].Size
		}
	}
	return bytes
}
