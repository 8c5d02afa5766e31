package upstream

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// storyteller is a program that says where it is.
type storyteller struct {
	*program
	place any
}

// in does something in a function of that name.
func (p *storyteller) in(place any, do func()) {
	outer := p.place
	p.place = place
	do()
	p.place = outer
}

// record starts a history (torch.cuda.memory._record_memory_history).
func (p *storyteller) record(h spec.HistoryOptions) {
	p.t.Helper()
	h.Enabled = true
	if h.MaxEntries == 0 {
		h.MaxEntries = 1000
	}
	if h.Level > spec.ContextNever {
		h.Context = func() any { return p.place }
	}
	p.must(p.allocator.RecordHistory(h))
}

// stop ends it, and forgets it.
func (p *storyteller) stop() {
	p.t.Helper()
	p.must(p.allocator.RecordHistory(spec.HistoryOptions{}))
}

// trace is the history of the device.
func (p *storyteller) trace() []spec.HistoryEntry {
	p.t.Helper()
	return p.snapshot().Traces[p.device]
}

// mentions reports whether a place is named anywhere in a snapshot.
func (p *storyteller) mentions(place any) bool {
	p.t.Helper()
	s := p.snapshot()
	for _, e := range s.Traces[p.device] {
		if e.Context == place {
			return true
		}
	}
	return slices.ContainsFunc(s.Segments, func(g spec.Segment) bool { return g.Context == place }) ||
		slices.ContainsFunc(blocks(s.Segments), func(b spec.Block) bool { return b.Context == place })
}

// blockOf is the block of a tensor in a snapshot.
func (p *storyteller) blockOf(x tensor) (spec.Block, bool) {
	p.t.Helper()
	all := blocks(p.snapshot().Segments)
	i := slices.IndexFunc(all, func(b spec.Block) bool { return b.Address == x.Ptr })
	if i < 0 {
		return spec.Block{}, false
	}
	return all[i], true
}

// storytellers runs a test with plain and with expandable segments.
func storytellers(t *testing.T, test func(t *testing.T, p *storyteller)) {
	plainAndExpandable(t, func(t *testing.T, p *program) { test(t, &storyteller{p, "main"}) })
}
