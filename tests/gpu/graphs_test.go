package gpu

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// communal has no private pools, and does not hear of streams either: memory that a graph
// used is anybody's once it is freed.
type communal struct{ *alloc.Allocator }

func (communal) RecordStream(spec.Ptr, spec.Device, spec.Stream) error                  { return nil }
func (communal) BeginAllocateToPool(spec.Device, spec.PoolID, spec.RequestFilter) error { return nil }
func (communal) EndAllocateToPool(spec.Device, spec.PoolID) error                       { return nil }
func (communal) ReleasePool(spec.Device, spec.PoolID) error                             { return nil }

// TestGraphs: a graph whose memory comes from a private pool is launched again and
// again, while the program obtains memory, fills it, and expects it to stay as it is;
// and so it does, and the graph's results are right each time. Without private pools
// it goes wrong.
func TestGraphs(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True", "graph_capture_record_stream_reuse:True"} {
		for _, test := range []struct {
			name   string
			as     func(a *alloc.Allocator) poolAllocator
			broken bool
		}{
			{"sound", func(a *alloc.Allocator) poolAllocator { return a }, false},
			{"no private pools", func(a *alloc.Allocator) poolAllocator { return communal{a} }, true},
		} {
			t.Run(test.name+"/"+settings, func(t *testing.T) {
				onBoth(t, func(l *lab) {
					l.verdict(graphs(l, test.as(l.reference(l.device, settings))), test.broken)
				})
			})
		}
	}
}

type poolAllocator interface {
	spec.Allocator
	spec.PrivatePools
}

const graphBytes = 3 * spec.MiB

var graphPool = spec.PoolID{Capture: 1}

// graphs captures, launches, and says what was wrong with what memory had afterwards.
func graphs(l *lab, a poolAllocator) (wrong error) {
	l.Helper()
	s := l.stream(0)
	results := [2]spec.Range{l.raw(graphBytes), l.raw(graphBytes)}
	x := captureLayers(l, a, s, results)

	var others []spec.Range
	for i := range 12 {
		others = append(others, l.obtain(a, 0, s, graphBytes))
		l.must(l.Fill(0, s, others[i], byte(100+i)))
		for _, r := range results {
			l.must(l.Fill(0, s, r, 0))
		}
		l.must(l.LaunchGraph(x, 0, s))
		for j, r := range results {
			if err := l.ends(s, r, byte(1+j)); err != nil && wrong == nil {
				wrong = fmt.Errorf("launch %d, result %d: %w", i, j, err)
			}
		}
		for j, r := range others {
			if err := l.ends(s, r, byte(100+j)); err != nil && wrong == nil {
				wrong = fmt.Errorf("launch %d, memory %d of the program: %w", i, j, err)
			}
		}
	}
	l.must(l.DestroyGraphExec(x))
	l.must(a.ReleasePool(0, graphPool))
	for _, r := range others {
		l.must(a.Free(r.Ptr))
	}
	for _, r := range results {
		l.must(l.Free(0, r.Ptr))
	}
	return wrong
}

// ends says what is wrong if a range does not hold a value at its two ends.
func (l *lab) ends(s spec.Stream, r spec.Range, value byte) error {
	l.Helper()
	const some = 4 * spec.KiB
	return errors.Join(
		l.has(0, s, spec.Range{Ptr: r.Ptr, Bytes: some}, value),
		l.has(0, s, spec.Range{Ptr: r.End() - spec.Ptr(some), Bytes: some}, value),
	)
}

// captureLayers captures two layers, each with memory of its own for as long as it
// takes. What the first one has is copied on a side stream.
func captureLayers(l *lab, a poolAllocator, s spec.Stream, results [2]spec.Range) spec.GraphExec {
	l.Helper()
	side, event := l.stream(0), l.event()
	join := func(later, earlier spec.Stream) {
		l.must(l.RecordEvent(event, 0, earlier))
		l.must(l.WaitEvent(0, later, event))
	}
	l.must(l.BeginCapture(0, s, spec.CaptureGlobal))
	status, err := l.CaptureStatus(0, s)
	l.must(err)
	l.must(a.BeginAllocateToPool(0, graphPool, spec.ForCapture(l.device, status.ID)))

	p := l.obtain(a, 0, s, graphBytes)
	l.must(l.Fill(0, s, p, 1))
	join(side, s)
	l.must(a.RecordStream(p.Ptr, 0, side))
	l.copyTo(results[0].Ptr, p, side)
	l.must(a.Free(p.Ptr))
	q := l.obtain(a, 0, s, graphBytes)
	l.must(l.Fill(0, s, q, 2))
	l.copyTo(results[1].Ptr, q, s)
	l.must(a.Free(q.Ptr))
	join(s, side)

	l.must(a.EndAllocateToPool(0, graphPool))
	captured, err := l.EndCapture(0, s)
	l.must(err)
	x, err := l.Instantiate(captured)
	l.must(err)
	l.must(l.DestroyGraph(captured))
	l.must(l.DestroyEvent(event))
	return x
}
