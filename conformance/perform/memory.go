package perform

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Allocating and freeing memory, the cache, its limits and its settings.
var memoryKinds = map[trace.OpKind]kind{
	trace.OpMalloc:       {perform: (*machine).malloc},
	trace.OpFree:         {perform: (*machine).free},
	trace.OpFreeOn:       {perform: (*machine).freeOn},
	trace.OpRecordStream: {perform: (*machine).recordStream},
	// of one pool, if that is asked for: spec.PrivatePools
	trace.OpEmptyCache:         {perform: (*machine).emptyCache},
	trace.OpSetMemoryFraction:  {perform: (*machine).setMemoryFraction, needs: memoryLimiter},
	trace.OpConfigure:          {perform: (*machine).configure, needs: configurer},
	trace.OpResetPeak:          {perform: (*machine).resetPeak, needs: statsResetter},
	trace.OpResetAccumulated:   {perform: (*machine).resetAccumulated, needs: statsResetter},
	trace.OpEnable:             {perform: (*machine).enable, needs: toggler},
	trace.OpNeedMemoryCallback: {perform: (*machine).needMemoryCallback, needs: observable},
	trace.OpResize:             {perform: (*machine).resize, needs: resizer},
	trace.OpSleep:              {perform: func(m *machine, _ *trace.Op) error { return m.allocator.(Sleeper).Sleep() }, needs: sleeper},
	trace.OpWake:               {perform: func(m *machine, _ *trace.Op) error { return m.allocator.(Sleeper).Wake() }, needs: sleeper},
}

// mostPages bounds the pages that one request maps: a TiB of the smallest that PyTorch
// has. A trace with pages of a few bytes could ask for any number in one line.
const mostPages = 1 << 19

// checkPages refuses a request that would map more.
func (m *machine) checkPages(op *trace.Op) error {
	page := max(1, m.header.Geometry.LargeBuffer)
	pages := min(op.Size, m.header.TotalMemory) / page
	if pages <= mostPages || !m.expandable {
		return nil
	}
	return m.badOp(op, fmt.Sprintf("%s in pages of %s are %d pages, and at most %d can be mapped at once here",
		trace.SizeInWords(op.Size), trace.SizeInWords(page), pages, mostPages))
}

func (m *machine) malloc(op *trace.Op) error {
	if err := m.checkPages(op); err != nil {
		return err
	}
	m.latest[op.Device] = m.stream(op, op.Stream)
	r := spec.Request{Device: op.Device, Stream: m.latest[op.Device], Bytes: op.Size, Thread: op.Thread}
	ptr, err := m.ask(r, op.Align)
	if err != nil {
		return err
	}
	m.out.Ptr = ptr
	m.allocations[op.ID] = allocation{ptr: ptr, bytes: op.Size, device: op.Device}
	return nil
}

// ask asks for memory, at a multiple of align bytes if that is not 0.
func (m *machine) ask(r spec.Request, align uint64) (spec.Ptr, error) {
	if align == 0 {
		return m.allocator.Malloc(r)
	}
	if aligner, able := m.allocator.(Aligner); able && aligner.Aligns() {
		return aligner.MallocAligned(r, align)
	}
	return 0, lacks(trace.OpMalloc, "Aligner")
}

func (m *machine) free(op *trace.Op) error {
	a, live := m.allocations[op.ID]
	if !live {
		return ErrSkipped
	}
	if err := m.allocator.Free(a.ptr); err != nil {
		return err
	}
	delete(m.allocations, op.ID)
	return nil
}

// A StreamFreer is an allocator whose free names the stream that it is ordered on: work that
// the stream is given later comes behind all uses of the memory.
type StreamFreer interface {
	FreeOn(p spec.Ptr, dev spec.Device, s spec.Stream, t spec.Thread) error
}

func (m *machine) freeOn(op *trace.Op) error {
	freer, able := m.allocator.(StreamFreer)
	a, live := m.allocations[op.ID]
	if !able || !live {
		return m.free(op)
	}
	if err := freer.FreeOn(a.ptr, op.Device, m.stream(op, op.Stream), op.Thread); err != nil {
		return err
	}
	delete(m.allocations, op.ID)
	return nil
}

func (m *machine) recordStream(op *trace.Op) error {
	a, live := m.allocations[op.ID]
	if !live {
		return ErrSkipped
	}
	return m.allocator.RecordStream(a.ptr, op.Device, m.stream(op, op.Stream))
}

func (m *machine) emptyCache(op *trace.Op) error {
	if op.Pool.IsDefault() {
		return m.allocator.EmptyCache()
	}
	pools, err := m.pools(op)
	if err != nil {
		return err
	}
	return pools.EmptyPool(op.Pool)
}

func (m *machine) setMemoryFraction(op *trace.Op) error {
	return m.allocator.(spec.MemoryLimiter).SetMemoryFraction(op.Device, op.Fraction)
}

func (m *machine) configure(op *trace.Op) error {
	m.expandable = m.expandable || NamesExpandable(op.Settings)
	return m.allocator.(spec.Configurer).Configure(op.Settings)
}

func (m *machine) resetPeak(op *trace.Op) error {
	return m.allocator.(spec.StatsResetter).ResetPeakStats(op.Device)
}

func (m *machine) resetAccumulated(op *trace.Op) error {
	return m.allocator.(spec.StatsResetter).ResetAccumulatedStats(op.Device)
}

func (m *machine) enable(op *trace.Op) error {
	m.allocator.(spec.Toggler).Enable(op.Enabled)
	return nil
}

// NamesExpandable reports whether settings may turn expandable segments on.
func NamesExpandable(settings string) bool { return strings.Contains(settings, "expandable_segments") }

// needMemoryCallback registers a function that, when first asked, frees the
// operation's allocations.
func (m *machine) needMemoryCallback(op *trace.Op) error {
	lent := op.Frees
	m.allocator.(spec.Observable).OnNeedMemory(func() bool {
		freed := false
		for _, id := range lent {
			a, live := m.allocations[id]
			if live && m.allocator.Free(a.ptr) == nil {
				freed = true
				delete(m.allocations, id)
				m.out.Freed = append(m.out.Freed, id)
			}
		}
		lent = nil
		return freed
	})
	return nil
}
