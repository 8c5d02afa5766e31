package whatif

import (
	"gaugeblock/model"
	"gaugeblock/spec"
)

// Before a prediction is worth anything the recorded run itself must come out: the
// rebuilt requests, under the recorded settings, with the driver giving the recorded
// addresses, must get the recorded places, every one. That holds the rebuilding of
// the requests, and the allocator, to the record.

// Agreement is how many requests did.
type Agreement struct {
	Placed int // requests that got memory
	Same   int // of those, the ones in the recorded place
}

// Full reports whether all did.
func (a *Agreement) Full() bool { return a.Same == a.Placed }

// verifier goes along with a run.
type verifier struct {
	Agreement
	ranges map[rangeKey]spec.Ptr
}

// rangeKey tells expandable segments apart. Of each it is known only how far from the
// recorded place it lies, which is the same for all of its blocks. Segments of private
// pools, which the record may not tell apart otherwise, lie far from each other.
type rangeKey struct {
	stream spec.Stream
	pool   uint8
	kind   spec.PoolKind
	region spec.Ptr
}

const regionBytes = 8 << 30

// Verify runs a history as recorded.
func Verify(h *History) Agreement {
	agreement, _ := runAsRecorded(h)
	return agreement
}

// runAsRecorded also gives what came of the run: if the agreement is full, what really
// happened.
func runAsRecorded(h *History) (Agreement, Outcome) {
	v := &verifier{ranges: map[rangeKey]spec.Ptr{}}
	s := Setup{Settings: h.settings(), Model: measured, verifier: v}
	if h.Limit.Refused() {
		s.Limit = h.Limit.Least
	}
	outcome, err := Run(h, s)
	if err != nil { // memory came where the record has something else
		v.Placed = h.Mallocs
	}
	return v.Agreement, outcome
}

// addresses are those of the segments that come in the course of a record.
func (h *History) addresses() []spec.Ptr {
	var addresses []spec.Ptr
	for i := range h.trace {
		if e := &h.trace[i]; e.Action == spec.ActionSegmentAlloc {
			addresses = append(addresses, e.Addr)
		}
	}
	return addresses
}

// placed compares where a request got its memory.
func (v *verifier) placed(h *History, q *Request, p spec.Ptr) {
	if q.Kind == Failing {
		return
	}
	distance := spec.Ptr(0)
	recorded := h.trace[q.Entry].Addr
	if h.Config.ExpandableSegments {
		g := spec.DefaultGeometry()
		key := rangeKey{q.Stream, q.Pool, g.PoolKind(model.Round(q.Bytes, h.Config, g)), recorded / regionBytes}
		if _, seen := v.ranges[key]; !seen {
			v.ranges[key] = recorded - p
		}
		distance = v.ranges[key]
	}
	v.Placed++
	if p+distance == recorded {
		v.Same++
	}
}
