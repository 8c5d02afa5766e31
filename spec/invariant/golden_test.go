package invariant_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// What PyTorch's own allocator was recorded to do, on a real GPU, breaks no
// invariant: not in the layouts and figures it showed, not in the addresses it
// gave. An invariant that these recordings contradict asks for too much.
func TestRecordedRunsBreakNothing(t *testing.T) {
	files, err := checkout.AllTraces()
	if err != nil {
		t.Fatal(err)
	}
	var seen verdicts
	for i, path := range slices.Sorted(maps.Values(files)) {
		if testing.Short() && i%8 != 0 {
			continue
		}
		header, ops, end, err := trace.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &recordedRun{header: &header, history: invariant.NewHistory()}
		for i := range ops {
			if !r.step(t, &ops[i], &seen) {
				t.Errorf("%s: gave up after line %d", filepath.Base(path), ops[i].Line)
				break
			}
		}
		if end != nil {
			stats := statsByKey(end.Stats)
			r.check(t, end.Line, end.Layout, &stats, &seen)
		}
	}
	for _, inv := range invariant.All() {
		if looked := seen[inv.Number]; looked == 0 && inv.Name != "NothingIsLost" {
			t.Errorf("%s was never looked for", inv.Name)
		}
	}
}

// verdicts counts how often each invariant was found to hold, by number.
type verdicts [32]int

// recordedRun is a trace on its way through the checks.
type recordedRun struct {
	header  *trace.Header
	history *invariant.History
}

// step tells the history of an operation and looks at what was recorded after it.
func (r *recordedRun) step(t *testing.T, op *trace.Op, seen *verdicts) bool {
	t.Helper()
	r.history.WorkCompleted()
	out := invariant.Outcome{Snapshot: layoutSnapshot(op.Expect.Layout)}
	if op.Expect.Error != "" {
		out.Err = spec.ErrOutOfMemory
	}
	if op.Expect.Addr != nil {
		out.Ptr = *op.Expect.Addr
	}
	if err := r.history.Apply(op, r.header.Streams, out); err != nil {
		t.Error(err)
		return false
	}
	figures := map[string]int64{}
	for i, key := range r.header.StatColumns {
		figures[key] = op.Expect.Stats[i]
		if current, ok := strings.CutSuffix(key, ".current"); ok {
			// Of the past only this much is known.
			figures[current+".peak"] = op.Expect.Stats[i]
			figures[current+".allocated"] = op.Expect.Stats[i]
		}
	}
	stats := statsByKey(figures)
	return r.check(t, op.Line, op.Expect.Layout, &stats, seen)
}

// check looks at one moment from every side that a recording has.
func (r *recordedRun) check(t *testing.T, line int, layout []spec.Segment, stats *spec.DeviceStats, seen *verdicts) bool {
	t.Helper()
	o := &invariant.Observation{
		Geometry: spec.DefaultGeometry(), Devices: 1, Stats: []spec.DeviceStats{*stats}, History: r.history,
	}
	if layout != nil {
		o.Snapshot = layoutSnapshot(layout)
		o.Inspector = viewsOf(o.Snapshot, 0)
	}
	findings, err := invariant.Judge(o)
	if err != nil {
		t.Fatal(err)
	}
	good := true
	for _, f := range findings {
		switch f.Verdict {
		case invariant.Holds:
			seen[f.Invariant.Number]++
		case invariant.Broken:
			t.Errorf("%s seed %d, line %d: %v", r.header.Family, r.header.Seed, line, f.Violations[0])
			good = false
		}
	}
	return good
}

func layoutSnapshot(layout []spec.Segment) *spec.Snapshot {
	if layout == nil {
		return nil
	}
	s := &spec.Snapshot{}
	for _, l := range layout {
		g := spec.Segment{
			Device: l.Device, Address: l.Address, TotalSize: l.TotalSize, Stream: l.Stream, Pool: l.Pool,
			PoolKind: l.PoolKind, Expandable: l.Expandable,
			AllocatedSize: l.AllocatedSize, ActiveSize: l.ActiveSize, RequestedSize: l.RequestedSize,
		}
		for _, b := range l.Blocks {
			g.Blocks = append(g.Blocks, spec.Block{
				Address: b.Address, Size: b.Size, RequestedSize: b.RequestedSize, State: b.State,
			})
		}
		s.Segments = append(s.Segments, g)
	}
	return s
}

// statsByKey makes statistics of figures by their keys in memory_stats.
func statsByKey(figures map[string]int64) (d spec.DeviceStats) {
	arrays := map[string]*spec.StatArray{
		"allocation": &d.Allocation, "segment": &d.Segment, "active": &d.Active, "inactive_split": &d.InactiveSplit,
		"allocated_bytes": &d.AllocatedBytes, "reserved_bytes": &d.ReservedBytes, "active_bytes": &d.ActiveBytes,
		"inactive_split_bytes": &d.InactiveSplitBytes, "requested_bytes": &d.RequestedBytes,
	}
	fill := func(s *spec.Stat, prefix string) {
		s.Current, s.Peak = figures[prefix+".current"], figures[prefix+".peak"]
		s.Allocated, s.Freed = figures[prefix+".allocated"], figures[prefix+".freed"]
	}
	for name, array := range arrays {
		for t := range spec.NumStatTypes {
			fill(&array[t], name+"."+t.String())
		}
	}
	fill(&d.OversizeAllocations, "oversize_allocations")
	fill(&d.OversizeSegments, "oversize_segments")
	d.NumAllocRetries, d.NumOOMs = figures["num_alloc_retries"], figures["num_ooms"]
	d.NumSyncAllStreams = figures["num_sync_all_streams"]
	d.NumDeviceAlloc, d.NumDeviceFree = figures["num_device_alloc"], figures["num_device_free"]
	return d
}
