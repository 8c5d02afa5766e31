package torch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// TestMadeUp compares programs that are made up for a release, and what the rules say of differences that are made up in
// them, with testdata/made_up:
//
//	programs RELEASE     by area: a digest of the programs and of their C++, and the rows whose rules hold for how many differences
//
// A rule that holds for more or fewer is seen, whatever the difference that shows it would be in PyTorch. After a change
// of the programs (conformance) all are others: -rewrite.
func TestMadeUp(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "made_up"), func(t *testing.T, d *datadriven.TestData) string {
		var told strings.Builder
		for _, area := range comparableAreas() {
			m := &madeUpPrograms{rows: map[string]int{}}
			for _, seed := range []uint64{1, 4, 17, 36, 44, 70, 100, 131} { // of each kind: exposes, invalidates, withReserve
				m.add(t, area, seed, d.CmdArgs[0].Key)
			}
			fmt.Fprintf(&told, "%s: programs %.16x, C++ of %d %.16x\n", area, sha256.Sum256([]byte(m.programs.String())), m.inCplusplus, sha256.Sum256([]byte(m.cplusplus.String())))
			for _, r := range slices.Concat(rules, hazardRules) {
				if n, is := m.rows[r.row]; is {
					fmt.Fprintf(&told, "  %s %d\n", r.row, n)
					delete(m.rows, r.row)
				}
			}
		}
		return told.String()
	})
}

// madeUpPrograms are some of an area.
type madeUpPrograms struct {
	programs, cplusplus strings.Builder
	inCplusplus         int
	rows                map[string]int
}

func (m *madeUpPrograms) add(t *testing.T, area string, seed uint64, release string) {
	t.Helper()
	const length, apart = 90, 9
	var results []perform.Result
	h, ops, err := madeUp(area, seed, Conditions{Release: release, Length: length, Every: 10}, length, func(_ *trace.Op, out *perform.Result) {
		kept := *out
		kept.Entries = slices.Clone(out.Entries)
		results = append(results, kept)
	})
	must(t, err)
	fmt.Fprintf(&m.programs, "%+v\n", h)
	for i := range ops {
		fmt.Fprintln(&m.programs, ops[i].InWords(), ops[i].Thread, results[i].Err)
	}
	text, can := cplusplus(&h, ops[:40], aboutProgram(&h, "nothing"))
	if can {
		m.inCplusplus++
	}
	m.cplusplus.WriteString(text)
	for at := int(seed % apart); at < length; at += apart {
		for ofDevice(ops[at].Kind) && at+1 < length {
			at++
		}
		m.ask(t, &Outcome{Header: h, Ops: ops[:at+1], Every: 10}, results[:at+1])
	}
}

// ask asks the rules about differences in the last operation.
func (m *madeUpPrograms) ask(t *testing.T, o *Outcome, results []perform.Result) {
	t.Helper()
	last := len(o.Ops) - 1
	plain := Difference{Operation: last + 1, Op: o.Ops[last].InWords(), ours: results[last]}
	o.Difference = &plain
	found, err := before(o)
	must(t, err)
	for _, d := range differencesIn(plain, results) {
		o.Difference = &d
		for _, r := range rules {
			if r.holds(found) {
				m.rows[r.row]++
			}
		}
		if row := found.faultRow(); row != "" {
			m.rows[row]++
		}
	}
	for _, h := range hazardsIn(o, results) {
		d := plain
		d.hazard = &h
		o.Difference = &d
		for _, both := range []*fakegpu.Hazard{nil, &h} {
			found.same = both
			for _, r := range hazardRules {
				if r.holds(found) {
					m.rows[r.row]++
				}
			}
		}
	}
}

// differencesIn are what PyTorch might have done instead: other errors, another address, other trace entries.
func differencesIn(plain Difference, results []perform.Result) (list []Difference) {
	add := func(what string, change func(d *Difference)) {
		d := plain
		d.What, d.theirs = what, plain.ours
		change(&d)
		list = append(list, d)
	}
	for _, text := range []string{
		"already recording to mempool_id", "use_count > 0", "Invalid stream capture status", "!block->stream_uses.empty()", "Could not find memory pool id for capture",
		"should not be capturing when the capture is ended", "status == cudaStreamCaptureStatusActive INTERNAL ASSERT FAILED", "Invalid expandable segment structure", "cudaMalloc_count > 0", "another",
	} {
		add("error", func(d *Difference) { d.theirs.Err = &binary.Refusal{Message: text} })
	}
	for _, code := range []int{1, 900, 901, 904, 907, 999} {
		add("error", func(d *Difference) { d.theirs.Err = &spec.DriverError{Call: "a call", Code: code} })
	}
	for _, err := range []error{
		&spec.DriverError{Call: "RecordEvent", Code: 901}, &spec.DriverError{Call: "CaptureStatus", Code: 999}, &spec.CaptureInvalidatedError{}, errors.New("streams may still use it"),
		errors.New("it is of another stream than at the checkpoint"), errors.New("it is another one than at the checkpoint"),
	} {
		add("error", func(d *Difference) { d.ours.Err, d.theirs.Err = err, nil })
		add("error", func(d *Difference) { d.ours.Err, d.theirs.Err = err, &spec.DriverError{Call: "a call", Code: 901} })
	}
	for _, what := range []string{"layout", "crash", "hang", "num_sync_all_streams", "message, free", "address"} {
		add(what, func(*Difference) {})
	}
	add("address", func(d *Difference) { d.lostRanges = true })
	add("trace entry", func(d *Difference) { d.theirs.Entries = nil })
	add("trace entry", func(d *Difference) {
		d.theirs.Entries = slices.Clone(d.ours.Entries)
		slices.Reverse(d.theirs.Entries)
	})
	for _, of := range results {
		for _, e := range of.Entries {
			switch e.Action {
			case spec.ActionAlloc:
				add("address", func(d *Difference) { d.theirs.Ptr = e.Addr })
			case spec.ActionFreeRequested:
				e.Action = spec.ActionFreeCompleted
				add("trace entry", func(d *Difference) { d.theirs.Entries = append(slices.Clone(d.ours.Entries), e) })
			case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
				for _, action := range []spec.Action{spec.ActionSegmentFree, spec.ActionSegmentUnmap} {
					e.Action = action
					add("trace entry", func(d *Difference) { d.theirs.Entries = append(slices.Clone(d.ours.Entries), e) })
				}
			}
		}
	}
	return list
}

// hazardsIn are hazards of memory that was allocated before, with work of each device and stream.
func hazardsIn(o *Outcome, results []perform.Result) (list []fakegpu.Hazard) {
	for i, of := range results {
		if o.Ops[i].Kind != trace.OpMalloc || of.Err != nil {
			continue
		}
		stream := o.Header.Streams[o.Ops[i].Stream]
		for dev := range o.Header.Devices {
			for _, on := range []spec.Stream{0, stream, o.Header.Streams[len(o.Header.Streams)-1]} {
				first := &fakegpu.Access{Device: spec.Device(dev), Stream: on}
				first.Lifetime = fakegpu.Lifetime{Range: spec.Range{Ptr: of.Ptr, Bytes: 512}, Device: o.Ops[i].Device, Stream: stream}
				for _, kind := range []fakegpu.HazardKind{fakegpu.Unordered, fakegpu.Returned} {
					list = append(list, fakegpu.Hazard{Kind: kind, First: first})
				}
			}
		}
	}
	return list
}
