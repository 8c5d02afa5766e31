package torch

import (
	"errors"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/tests/reference"
	"gaugeblock/tests/replay"
)

// The differences that docs/deviations.md lists, as rules. A rule is given the moment of the
// first difference of a program, and says whether its row explains it. A row is called by
// the words that it begins with.

// The rows that do not end a program.
const (
	rowOrder        = "When several streams have completed"
	rowRestoreOrder = "A restore frees blocks, and cuts segments up, in the order of heap addresses"
)

// A rule is a row with what recognises it.
type rule struct {
	row   string
	holds func(m *moment) bool
}

// moment is the first difference of a program, and how things stood before.
type moment struct {
	*Outcome
	op     *spec.Op
	before spec.Snapshot // of the reference
	config spec.Config   // in force
	strict bool          // a capture was under way that is not relaxed
	facts  facts
}

// facts are what the program has done up to then.
type facts struct {
	useOnOOM    bool                 // a pool is marked so
	capturing   bool                 // something is being captured
	default2    map[int64]bool       // memory on a default stream that another device's is recorded for
	owners      map[int64]spec.Op    // mallocs of what is allocated
	capturePool map[spec.PoolID]bool // pools that serve captures
}

// rules are tried in this order.
var rules = []rule{
	{"A pool marked `use_on_oom` that waits to be freed", func(m *moment) bool {
		return m.facts.useOnOOM && m.op.Kind == spec.OpMalloc && (m.says("already recording to mempool_id") || m.says("use_count > 0"))
	}},
	{"Garbage collection, the release of oversize blocks, emptying the cache", func(m *moment) bool {
		return m.strict && m.cudaError(900)
	}},
	{"With it, a malloc for a captured stream whose requests nothing diverts fails", func(m *moment) bool {
		return m.config.GraphCaptureRecordStreamReuse && m.facts.capturing &&
			(m.says("Could not find memory pool id for capture") || m.says("should not be capturing when the capture is ended"))
	}},
	{"With `graph_capture_record_stream_reuse`, a free while a capture", func(m *moment) bool {
		return m.config.GraphCaptureRecordStreamReuse && m.op.Kind == spec.OpFree && m.says("INTERNAL ASSERT FAILED")
	}},
	{"A block that is out and has uses is freed by the restore", func(m *moment) bool {
		return m.op.Kind == spec.OpRestore && m.refused("streams may still use") && m.Difference.theirs.Err == nil
	}},
	{"That a segment is gone, or a block still used, is found out when everything has been freed", func(m *moment) bool {
		return m.op.Kind == spec.OpRestore && m.Difference.ours.Err != nil && m.Difference.theirs.Err != nil
	}},
	{"A use on the allocation stream needs no event; streams are compared by handle alone", (*moment).defaultStreams},
	{"A block that counts as oversize is passed to `cudaFree`", (*moment).oversizePart},
	{"Segments of a private pool go as well, for a request of that pool", (*moment).oversizeCaptured},
}

// says reports whether PyTorch's error does.
func (m *moment) says(text string) bool {
	err := m.Difference.theirs.Err
	return err != nil && strings.Contains(err.Error(), text)
}

// refused reports whether the reference's error says so.
func (m *moment) refused(text string) bool {
	err := m.Difference.ours.Err
	return err != nil && strings.Contains(err.Error(), text)
}

func (m *moment) cudaError(code int) bool {
	var driver *spec.DriverError
	return errors.As(m.Difference.theirs.Err, &driver) && driver.Code == code
}

// defaultStreams: PyTorch has dropped the use of another device's default stream, and so
// frees at once what the reference still waits for.
func (m *moment) defaultStreams() bool {
	if m.Difference.What != "trace entry" {
		return false
	}
	if m.op.Kind == spec.OpFree {
		return m.facts.default2[m.op.ID]
	}
	return false
}

// oversizePart: PyTorch has given a part of a segment to cudaFree, or tried to.
func (m *moment) oversizePart() bool {
	if m.op.Kind != spec.OpMalloc || m.config.MaxSplitSize == spec.Unlimited || !m.oversizeSplit() {
		return false
	}
	if m.cudaError(1) {
		return true
	}
	for _, e := range m.Difference.theirs.Events {
		if e.Action == spec.ActionSegmentFree && !m.wholeSegment(e.Addr, e.Size) {
			return true
		}
	}
	return false
}

// oversizeSplit reports whether there is a free block of the size that is oversize, and only
// a part of its segment.
func (m *moment) oversizeSplit() bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		return !s.Expandable && len(s.Blocks) > 1 && slices.ContainsFunc(s.Blocks, func(b spec.Block) bool {
			return b.State == spec.Inactive && b.Size >= m.config.MaxSplitSize
		})
	})
}

func (m *moment) wholeSegment(at spec.Ptr, size uint64) bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		return s.Address == at && s.TotalSize == size && len(s.Blocks) == 1
	})
}

// oversizeCaptured: PyTorch has released a segment of a pool that a graph was captured with.
func (m *moment) oversizeCaptured() bool {
	if m.op.Kind != spec.OpMalloc || m.config.MaxSplitSize == spec.Unlimited {
		return false
	}
	return slices.ContainsFunc(m.Difference.theirs.Events, func(e spec.Event) bool {
		if e.Action != spec.ActionSegmentFree {
			return false
		}
		released := func(s spec.Segment) bool { return s.Address == e.Addr && m.facts.capturePool[s.Pool] }
		return slices.ContainsFunc(m.before.Segments, released)
	})
}

// explain finds the row of a difference; "" if none explains it.
func explain(o *Outcome) (string, error) {
	m, err := before(o)
	if err != nil {
		return "", err
	}
	for _, r := range rules {
		if r.holds(m) {
			return r.row, nil
		}
	}
	return "", nil
}

// before performs the program up to the difference once more, on the reference alone.
func before(o *Outcome) (*moment, error) {
	player, err := replay.NewPlayer(&o.Header, reference.New)
	if err != nil {
		return nil, err
	}
	m := &moment{Outcome: o, op: &o.Ops[len(o.Ops)-1]}
	m.facts = facts{default2: map[int64]bool{}, owners: map[int64]spec.Op{}, capturePool: map[spec.PoolID]bool{}}
	if m.config, err = spec.ParseConfig(o.Header.Settings, spec.DefaultGeometry()); err != nil {
		return nil, err
	}
	for i := range o.Ops[:len(o.Ops)-1] {
		op := &o.Ops[i]
		out := player.Perform(op)
		m.note(op, &out)
	}
	m.strict = player.GPU().FreeForbidden()
	m.before, err = player.Allocator().Snapshot()
	return m, err
}

// note takes note of an operation that the reference has performed.
func (m *moment) note(op *spec.Op, out *replay.Performed) {
	f := &m.facts
	if out.Err != nil || out.Skipped {
		return
	}
	switch op.Kind {
	case spec.OpMalloc:
		f.owners[op.ID] = *op
	case spec.OpRecordStream:
		owner := f.owners[op.ID]
		if owner.Stream == 0 && op.Stream == 0 && owner.Device != op.Device {
			f.default2[op.ID] = true
		}
	case spec.OpPoolCreate:
		f.useOnOOM = f.useOnOOM || op.UseOnOOM
	case spec.OpPoolBegin:
		if op.By == spec.ByCapture || f.capturing {
			f.capturePool[op.Pool] = true
		}
	case spec.OpCaptureBegin:
		f.capturing = true
	case spec.OpCaptureEnd:
		f.capturing = false
	case spec.OpConfigure:
		if c, err := m.config.Apply(op.Settings, spec.DefaultGeometry()); err == nil {
			m.config = c
		}
	}
}
