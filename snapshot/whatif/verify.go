package whatif

import (
	"gaugeblock/model"
	"gaugeblock/spec"
)

// Before anything is predicted the recorded run is reproduced: the requests are made
// again under the recorded settings, and the driver returns the recorded addresses of
// segments. Every allocation must then get its recorded address. That checks how the
// requests were found, and the allocator.

// Verification counts the allocations of the recorded run that are reproduced.
type Verification struct {
	Allocations int
	SameAddress int // those with the recorded address
}

// Exact reports whether all are.
func (v *Verification) Exact() bool { return v.SameAddress == v.Allocations }

// verifier compares a run with the recorded one.
type verifier struct {
	Verification
	offsets map[expandableKey]spec.Ptr
}

// expandableKey tells expandable segments apart. Their addresses are not reproduced: all
// blocks of one have the same offset from the recorded addresses. Segments of private
// pools that cannot be told apart otherwise are in different regions.
type expandableKey struct {
	stream spec.Stream
	pool   uint8
	kind   spec.PoolKind
	region spec.Ptr
}

const regionBytes = 8 << 30

// Verify reproduces the recorded run of a workload.
func Verify(w *Workload) Verification {
	verification, _ := runAsRecorded(w)
	return verification
}

// runAsRecorded also returns the outcome. If the verification is exact, that is the
// outcome of the recorded run.
func runAsRecorded(w *Workload) (Verification, Outcome) {
	v := &verifier{offsets: map[expandableKey]spec.Ptr{}}
	o := RunOptions{Settings: w.recordedSettings(), Assumptions: measuredDriver, verifier: v}
	if w.Limit.Refused() {
		o.Limit = w.Limit.Least
	}
	outcome, err := Run(w, o)
	if err != nil { // a segment was allocated where the history has another entry
		v.Allocations = w.Mallocs
	}
	return v.Verification, outcome
}

// recordedSegments lists the addresses of the segment_alloc entries.
func (w *Workload) recordedSegments() []spec.Ptr {
	var addresses []spec.Ptr
	for i := range w.trace {
		if e := &w.trace[i]; e.Action == spec.ActionSegmentAlloc {
			addresses = append(addresses, e.Addr)
		}
	}
	return addresses
}

// compare compares the address of an allocation with the recorded one.
func (v *verifier) compare(w *Workload, q *Request, p spec.Ptr) {
	if q.Kind == FailedMalloc {
		return
	}
	offset := spec.Ptr(0)
	recorded := w.trace[q.Entry].Addr
	if w.Config.ExpandableSegments {
		g := spec.DefaultGeometry()
		key := expandableKey{q.Stream, q.Pool, g.PoolKind(model.Round(q.Bytes, w.Config, g)), recorded / regionBytes}
		if _, seen := v.offsets[key]; !seen {
			v.offsets[key] = recorded - p
		}
		offset = v.offsets[key]
	}
	v.Allocations++
	if p+offset == recorded {
		v.SameAddress++
	}
}
