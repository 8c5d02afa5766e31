package report

import (
	"errors"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// maxFailed is how many failed requests are listed.
const maxFailed = 100

// Options says what to draw.
type Options struct {
	Source string // what the page calls the snapshot
	Device spec.Device
	Study  *whatif.Study // nil: other settings were not tried
	Notes  []string      // to be added, such as why they were not
}

// Build reads a snapshot for a report. A snapshot without history has an end only; one
// of a device that held nothing and did nothing is an error.
func Build(f *snapshot.File, o Options) (*Data, error) {
	b := &builder{file: f, device: o.Device, config: spec.DefaultConfig(spec.DefaultGeometry()), sizes: bins{}}
	b.data = &Data{
		Source: shorten(o.Source), Device: int(o.Device),
		Failed: []Failed{}, Moments: []Moment{}, Notes: []string{},
		Stacks: stacks{Frames: []frame{}, Stacks: [][]int{}, Own: []int{}},
	}
	if f.Settings != nil {
		b.config = f.Settings.Config
		b.data.Facts.Settings = shorten(f.Settings.Conf)
	}
	history, err := whatif.Rebuild(f, o.Device)
	var none *whatif.HistoryError
	switch {
	case err == nil:
		b.start = history.Start
		b.trace = f.Traces[o.Device]
		b.data.Facts.Whole = history.Whole()
	case errors.As(err, &none):
		b.data.Notes = append(b.data.Notes, none.Reason)
		b.data.Facts.Whole = true
	default:
		return nil, err
	}
	b.curve()
	b.moments()
	if len(b.trace) == 0 && len(b.data.Moments[0].Segments) == 0 {
		return nil, errors.New("the snapshot has nothing of this device: no memory is held, and there is no history")
	}
	b.data.WhatIf = whatIf(o.Study)
	b.data.Notes = append(b.data.Notes, o.Notes...)
	return b.data, nil
}

// builder goes through a history twice: for the curve, which also tells where the
// peak is, and for the pictures.
type builder struct {
	file   *snapshot.File
	device spec.Device
	config spec.Config
	start  []spec.Segment
	trace  []snapshot.Entry
	sizes  bins
	data   *Data

	peak, oom int // entries; -1: none
}

// micros is when an entry was made, since the history begins.
func (b *builder) micros(entry int) int64 {
	if entry < 0 {
		return 0
	}
	return max(0, b.trace[entry].TimeUS-b.trace[0].TimeUS)
}

// curve goes through the history for everything but the pictures.
func (b *builder) curve() {
	d := b.data
	p := newPicture(b.start, b.config)
	d.Curve = newCurve(len(b.trace))
	d.Facts.Entries = len(b.trace)
	d.Facts.PeakAllocated, d.Facts.PeakReserved = p.allocated, p.reserved
	b.peak, b.oom = -1, -1
	for i := range b.trace {
		e := &b.trace[i]
		p.add(i, e)
		d.Curve.add(i, b.micros(i), p)
		d.Curve.mark(&e.TraceEntry)
		b.count(i, e)
		if p.allocated > d.Facts.PeakAllocated {
			d.Facts.PeakAllocated, b.peak = p.allocated, i
		}
		d.Facts.PeakReserved = max(d.Facts.PeakReserved, p.reserved)
	}
	if last := len(b.trace) - 1; last >= 0 {
		d.Facts.Micros = b.micros(last)
	}
	if d.Facts.Micros == 0 {
		d.Curve.Micros = nil
	}
}

func (b *builder) count(i int, e *snapshot.Entry) {
	facts := &b.data.Facts
	switch e.Action {
	case spec.ActionAlloc:
		facts.Requests++
		b.sizes.request(e.Size)
	case spec.ActionOOM:
		facts.Requests++
		facts.Failed++
		if b.oom < 0 {
			b.oom = i
		}
		if len(b.data.Failed) < maxFailed {
			stack := b.data.Stacks.add(e.Context.Stack)
			b.data.Failed = append(b.data.Failed, Failed{i, b.micros(i), e.Size, stack})
		}
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		facts.Obtained += e.Size
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		facts.Returned += e.Size
	}
}

// moments draws the pictures.
func (b *builder) moments() {
	p := newPicture(b.start, b.config)
	if b.peak < 0 {
		b.sizes.live(p)
	}
	for i := range b.trace {
		p.add(i, &b.trace[i])
		if i == b.peak {
			b.sizes.live(p)
			b.data.Moments = append(b.data.Moments, b.draw(b.at("peak", "When most was given out", i), p.segments(b.device), p))
		}
		if i == b.oom {
			b.data.Moments = append(b.data.Moments, b.draw(b.at("oom", "When it first ran out of memory", i), p.segments(b.device), p))
		}
	}
	b.data.Sizes = b.sizes.sorted()
	segments := slices.DeleteFunc(slices.Clone(b.file.Segments), func(s spec.Segment) bool { return s.Device != b.device })
	b.data.Moments = append(b.data.Moments, b.draw(b.at("end", "At the end", len(b.trace)-1), segments, p))
}

func (b *builder) at(name, title string, entry int) Moment {
	return Moment{Name: name, Title: title, Entry: entry, Micros: b.micros(entry)}
}

// whatIf takes out of a study what the page shows.
func whatIf(study *whatif.Study) *WhatIf {
	if study == nil {
		return nil
	}
	w := &WhatIf{Limit: study.Limit, Rows: []Row{}, Advice: study.Advice(), Export: study.Export()}
	for _, r := range study.Best() {
		row := Row{
			Settings: r.Settings, PeakReserved: [2]uint64{r.Range.Low, r.Range.High}, PeakAllocated: r.PeakAllocated,
			Fragmentation: r.Fragmentation(), Retries: r.Retries, DriverCalls: r.DeviceAllocs + r.DeviceFrees,
			Exact: r.Exact(), Recorded: r.Recorded, Chosen: r == study.Choice(),
		}
		if r.First != nil {
			row.Failed = int64(r.First.Number)
		}
		w.Rows = append(w.Rows, row)
	}
	return w
}
