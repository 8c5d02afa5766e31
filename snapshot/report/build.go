package report

import (
	"errors"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// maxOOMs is how many failed requests are listed.
const maxOOMs = 100

// Options are what a report is made of, beside the snapshot.
type Options struct {
	Title      string // of the report among several on a page
	Device     spec.Device
	Comparison *compare.Comparison // nil: no predictions for other settings
	Notes      []string            // to be added to the page
	Categories []Pattern           // instead of a guess what memory is for
	Progress   func(done, of int)  // called now and then; nil: not
	Share      int                 // how many reports share the page; 0: this one alone
}

// limits bound what a report shows, so that a page is small for every snapshot and every
// number of reports.
type limits struct {
	buckets, series, callSites, segments, blocks, mergeShare, ooms, annotations, allocations, polygons, states int
}

// limitsFor are the limits of a report that shares the page.
func limitsFor(reports int) limits {
	n := max(1, reports)
	return limits{
		buckets: max(200, maxBuckets/n), series: max(8, maxSeries/n), callSites: max(12, maxCallSites/n),
		segments: maxSegments / n, blocks: maxBlocks / n, mergeShare: mergeShare / n, ooms: max(4, maxOOMs/n), annotations: max(8, maxAnnotations/n), allocations: maxAllocations / n, polygons: maxPolygons / n, states: maxStateItems / n,
	}
}

// maxDevices is how many devices of a snapshot a page shows.
const maxDevices = 16

// Devices lists the devices that have segments or a history, at most maxDevices: always the
// chosen one, and of the others the first. More is how many are left out.
func Devices(f *snapshot.File, chosen spec.Device) (devices []spec.Device, more int) {
	has := map[spec.Device]bool{chosen: true}
	for i := range f.Segments {
		has[f.Segments[i].Device] = true
	}
	for dev, trace := range f.DeviceTraces {
		if len(trace) > 0 {
			has[spec.Device(dev)] = true
		}
	}
	others := 0
	for _, dev := range slices.Sorted(maps.Keys(has)) {
		if dev != chosen {
			if others++; others >= maxDevices {
				more++
				continue
			}
		}
		devices = append(devices, dev)
	}
	return devices, more
}

// Build makes the report of a device of a snapshot. Without history it shows the end only. A
// device without segments and without history is an error.
func Build(f *snapshot.File, o Options) (*Data, error) { return buildWithin(limitsFor(o.Share), f, o) }

func buildWithin(l limits, f *snapshot.File, o Options) (*Data, error) {
	b := &builder{file: f, device: o.Device, settings: history.DefaultSettings(), sizes: bins{}, limits: l, share: o.Share, progress: o.Progress}
	b.data = &Data{
		Title: shorten(o.Title), Device: int(o.Device),
		OOMs: []OutOfMemory{}, Layouts: []Layout{}, Notes: []string{}, Stacks: newStacks(o.Share),
	}
	if f.AllocatorSettings != nil {
		b.settings = history.SettingsOf(f.AllocatorSettings.Config)
		b.data.Summary.Settings = shorten(f.AllocatorSettings.Conf)
	}
	workload, err := workloadOf(f, &o)
	var none *history.WorkloadError
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
	b.sites = newSiteTable(b.trace, o.Categories...)
	b.timeline()
	b.layouts()
	b.writeSites()
	b.data.Allocations = b.allocations()
	b.data.SegmentsOverTime = b.segmentsOverTime()
	b.data.Host = b.host()
	b.data.States = b.states(b.recorder)
	b.data.totals = b.sites.list
	if len(b.trace) == 0 && len(b.data.layout("end").Segments) == 0 {
		return nil, errors.New("the snapshot has nothing of this device: no memory is reserved, and there is no history")
	}
	b.data.WhatIf, b.data.Brief, b.data.Verdict = whatIf(o.Comparison), briefOf(o.Comparison), verdict(o.Comparison)
	for _, note := range o.Notes {
		b.data.Notes = append(b.data.Notes, shortenEnd(note, maxNote))
	}
	b.data.Stacks.stackNumbers, b.data.States.Stacks.stackNumbers = stackNumbers{}, stackNumbers{} // they hold the call stacks of the whole snapshot
	return b.data, nil
}

// workloadOf is the workload of the comparison, if there is one, since it takes a while to find.
func workloadOf(f *snapshot.File, o *Options) (*history.Workload, error) {
	if o.Comparison != nil && o.Comparison.Workload.Device == o.Device {
		return o.Comparison.Workload, nil
	}
	return play.FromSnapshot(f, o.Device)
}

// builder reads a history twice: for the timeline, which also finds the peak, and for the
// layouts.
type builder struct {
	file     *snapshot.File
	device   spec.Device
	settings history.Settings
	start    []spec.Segment
	trace    []snapshot.TraceEntry
	sizes    bins
	sites    *siteTable
	limits   limits
	share    int // how many reports share the page; 0: this one alone
	progress func(done, of int)
	recorder *stateRecorder
	data     *Data

	peak, oom      int      // entries: of the peak allocated, of the first OOM; -1: none
	allocated      []uint64 // after each entry
	categorySeries [][]uint64
}

// advance tells how far the two readings are.
func (b *builder) advance(done, of int) {
	const every = 1 << 14
	if b.progress != nil && done%every == 0 {
		b.progress(done, of)
	}
}

// timeUS is the time of an entry since the start of the history.
func (b *builder) timeUS(entry int) int64 {
	if entry < 0 {
		return 0
	}
	return max(0, b.trace[entry].TimeUS-b.trace[0].TimeUS)
}

// timeline reads the history for everything but the layouts.
func (b *builder) timeline() {
	d := b.data
	s := newAllocatorState(b.start, b.settings, b.sites)
	d.Timeline = newTimeline(len(b.trace), b.limits.buckets)
	b.allocated = make([]uint64, len(b.trace))
	d.Summary.Entries = len(b.trace)
	d.Summary.PeakAllocated, d.Summary.PeakReserved = s.allocatedBytes, s.reservedBytes
	b.peak, b.oom = -1, -1
	for i := range b.trace {
		e := &b.trace[i]
		b.advance(i, 2*len(b.trace))
		s.add(i, e)
		b.allocated[i] = s.allocatedBytes
		d.Timeline.add(i, b.timeUS(i), s)
		d.Timeline.count(&e.TraceEntry)
		b.count(i, e)
		if s.allocatedBytes > d.Summary.PeakAllocated {
			d.Summary.PeakAllocated, b.peak = s.allocatedBytes, i
		}
		d.Summary.PeakReserved = max(d.Summary.PeakReserved, s.reservedBytes)
	}
	d.Statistics = s.named()
	if last := len(b.trace) - 1; last >= 0 {
		d.Summary.DurationUS = b.timeUS(last)
	}
	d.Annotations = b.annotations()
	if d.Summary.DurationUS == 0 {
		d.Timeline.TimesUS = []int64{}
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
		if len(b.data.OOMs) < b.limits.ooms {
			stack := b.data.Stacks.add(e.Context.Frames)
			b.data.OOMs = append(b.data.OOMs, OutOfMemory{i, b.timeUS(i), e.Size, stack})
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		summary.ReservedAllocated += e.Size
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		summary.ReservedFreed += e.Size
	}
}

// layouts reads the history a second time, for the layouts, and for who holds the memory.
func (b *builder) layouts() {
	b.sites.forget()
	s := newAllocatorState(b.start, b.settings, b.sites)
	recorder := recordStates(s, len(b.trace), b.limits.states)
	series := b.sites.mostHeld(b.limits.series)
	if b.peak < 0 {
		b.atPeak(s)
	}
	bucket := 0
	for i := range b.trace {
		b.advance(len(b.trace)+i, 2*len(b.trace))
		recorder.now = int64(i)
		s.add(i, &b.trace[i])
		if bucket < len(b.data.Timeline.highest) && i == b.data.Timeline.highest[bucket] {
			b.sample(series)
			bucket++
		}
		if i == b.peak {
			b.atPeak(s)
			b.data.Layouts = append(b.data.Layouts, b.layout("peak", "At the peak of allocated memory", i, s.segments(b.device), s))
		}
		if i == b.oom {
			b.sites.remember(func(h *holder) *Holding { return &h.oom })
			b.data.Layouts = append(b.data.Layouts, b.layout("oom", "At the first out of memory", i, s.segments(b.device), s))
		}
	}
	b.data.Sizes = b.sizes.sorted()
	b.recorder = recorder
	segments := slices.DeleteFunc(slices.Clone(b.file.Segments), func(s spec.Segment) bool { return s.Device != b.device })
	if len(b.trace) == 0 { // the end is all there is
		s = newAllocatorState(segments, b.settings, b.sites)
		b.atPeak(s)
		b.data.Summary.PeakAllocated, b.data.Summary.PeakReserved = s.allocatedBytes, s.reservedBytes
	}
	b.data.Layouts = append(b.data.Layouts, b.layout("end", "At the end", len(b.trace)-1, segments, s))
}

// atPeak counts what is allocated at the peak.
func (b *builder) atPeak(s *allocatorState) {
	b.sizes.countPeak(s)
	b.sites.remember(func(h *holder) *Holding { return &h.peak })
}
