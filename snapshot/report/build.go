package report

import (
	"errors"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// maxOOMs is how many failed requests are listed.
const maxOOMs = 100

// Options are what a report is made of, beside the snapshot.
type Options struct {
	Source     string // the name of the snapshot on the page
	Device     spec.Device
	Comparison *whatif.Comparison // nil: no predictions for other settings
	Notes      []string           // to be added to the page
}

// Build makes the report of a snapshot. Without history it shows the end only. A device
// without segments and without history is an error.
func Build(f *snapshot.File, o Options) (*Data, error) {
	b := &builder{file: f, device: o.Device, config: spec.DefaultConfig(spec.DefaultGeometry()), sizes: bins{}}
	b.data = &Data{
		Source: shorten(o.Source), Device: int(o.Device),
		OOMs: []OutOfMemory{}, Moments: []Moment{}, Notes: []string{},
		Stacks: stacks{Frames: []frame{}, Stacks: [][]int{}, Own: []int{}},
	}
	if f.AllocatorSettings != nil {
		b.config = f.AllocatorSettings.Config
		b.data.Summary.Settings = shorten(f.AllocatorSettings.Conf)
	}
	workload, err := whatif.FromSnapshot(f, o.Device)
	var none *whatif.WorkloadError
	switch {
	case err == nil:
		b.start = workload.InitialSegments
		b.trace = f.DeviceTraces[o.Device]
		b.data.Summary.Complete = workload.Complete()
	case errors.As(err, &none):
		b.data.Notes = append(b.data.Notes, none.Reason)
		b.data.Summary.Complete = true
	default:
		return nil, err
	}
	b.timeline()
	b.moments()
	if len(b.trace) == 0 && len(b.data.moment("end").Segments) == 0 {
		return nil, errors.New("the snapshot has nothing of this device: no memory is reserved, and there is no history")
	}
	b.data.WhatIf = whatIf(o.Comparison)
	b.data.Notes = append(b.data.Notes, o.Notes...)
	return b.data, nil
}

// builder reads a history twice: for the timeline, which also finds the peak, and for the
// moments.
type builder struct {
	file   *snapshot.File
	device spec.Device
	config spec.Config
	start  []spec.Segment
	trace  []snapshot.TraceEntry
	sizes  bins
	data   *Data

	peak, oom int // entries: of the peak allocated, of the first OOM; -1: none
}

// timeUS is the time of an entry since the start of the history.
func (b *builder) timeUS(entry int) int64 {
	if entry < 0 {
		return 0
	}
	return max(0, b.trace[entry].TimeUS-b.trace[0].TimeUS)
}

// timeline reads the history for everything but the moments.
func (b *builder) timeline() {
	d := b.data
	s := newAllocatorState(b.start, b.config)
	d.Timeline = newTimeline(len(b.trace))
	d.Summary.Entries = len(b.trace)
	d.Summary.PeakAllocated, d.Summary.PeakReserved = s.allocatedBytes, s.reservedBytes
	b.peak, b.oom = -1, -1
	for i := range b.trace {
		e := &b.trace[i]
		s.add(i, e)
		d.Timeline.add(i, b.timeUS(i), s)
		d.Timeline.count(&e.TraceEntry)
		b.count(i, e)
		if s.allocatedBytes > d.Summary.PeakAllocated {
			d.Summary.PeakAllocated, b.peak = s.allocatedBytes, i
		}
		d.Summary.PeakReserved = max(d.Summary.PeakReserved, s.reservedBytes)
	}
	if last := len(b.trace) - 1; last >= 0 {
		d.Summary.DurationUS = b.timeUS(last)
	}
	if d.Summary.DurationUS == 0 {
		d.Timeline.TimesUS = nil
	}
}

func (b *builder) count(i int, e *snapshot.TraceEntry) {
	summary := &b.data.Summary
	switch e.Action {
	case spec.ActionAlloc:
		summary.Requests++
		b.sizes.request(e.Size)
	case spec.ActionOOM:
		summary.Requests++
		summary.OOMs++
		if b.oom < 0 {
			b.oom = i
		}
		if len(b.data.OOMs) < maxOOMs {
			stack := b.data.Stacks.add(e.Context.Frames)
			b.data.OOMs = append(b.data.OOMs, OutOfMemory{i, b.timeUS(i), e.Size, stack})
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		summary.ReservedAllocated += e.Size
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		summary.ReservedFreed += e.Size
	}
}

// moments reads the history for the moments.
func (b *builder) moments() {
	s := newAllocatorState(b.start, b.config)
	if b.peak < 0 {
		b.sizes.countPeak(s)
	}
	for i := range b.trace {
		s.add(i, &b.trace[i])
		if i == b.peak {
			b.sizes.countPeak(s)
			b.data.Moments = append(b.data.Moments, b.moment("peak", "At the peak of allocated memory", i, s.segments(b.device), s))
		}
		if i == b.oom {
			b.data.Moments = append(b.data.Moments, b.moment("oom", "At the first out of memory", i, s.segments(b.device), s))
		}
	}
	b.data.Sizes = b.sizes.sorted()
	segments := slices.DeleteFunc(slices.Clone(b.file.Segments), func(s spec.Segment) bool { return s.Device != b.device })
	b.data.Moments = append(b.data.Moments, b.moment("end", "At the end", len(b.trace)-1, segments, s))
}

// whatIf is what the page shows of a comparison.
func whatIf(c *whatif.Comparison) *WhatIf {
	if c == nil {
		return nil
	}
	w := &WhatIf{Limit: c.Limit, Predictions: []Prediction{}, Advice: c.Advice(), Export: c.Export()}
	for _, p := range c.Ranked() {
		shown := Prediction{
			Settings: p.Settings, PeakReserved: [2]uint64{p.PeakReservedRange.Low, p.PeakReservedRange.High}, PeakAllocated: p.PeakAllocated,
			Unallocated: p.Unallocated(), AllocRetries: p.Retries, DeviceCalls: p.DeviceAllocs + p.DeviceFrees,
			Exact: p.Exact(), Recorded: p.Recorded, Recommended: p == c.Recommended(),
		}
		if p.FirstOOM != nil {
			shown.OOMRequest = int64(p.FirstOOM.Number)
		}
		w.Predictions = append(w.Predictions, shown)
	}
	return w
}
