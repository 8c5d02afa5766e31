package fakegpu

import (
	"testing"
	"time"

	"gaugeblock/spec"
)

// TestElapsedTime: the clock goes by the work, whenever that is done.
func TestElapsedTime(t *testing.T) {
	for name, schedule := range map[string]Schedule{"at once": nil, "lazy": Lazy(), "random": Random(1)} {
		g := New(Config{Schedule: schedule})
		p, err := g.Malloc(0, spec.MiB)
		must(t, err)
		s, err := g.CreateStream(0)
		must(t, err)
		var events [3]spec.EventHandle
		for i := range events {
			events[i], err = g.CreateTimedEvent(0)
			must(t, err)
			must(t, g.RecordEvent(events[i], 0, s))
			for range i {
				must(t, g.Fill(0, s, spec.Range{Ptr: p, Bytes: spec.MiB}, 1))
			}
		}
		must(t, g.SynchronizeStream(0, s))
		const fill = time.Microsecond + 1048*time.Nanosecond
		for _, c := range []struct {
			from, to int
			want     time.Duration
		}{{0, 1, 0}, {1, 2, fill}, {0, 2, fill}, {2, 0, -fill}} {
			got, err := g.ElapsedTime(events[c.from], events[c.to])
			if err != nil || got != c.want {
				t.Errorf("%s: from event %d to event %d: %v, %v; want %v", name, c.from, c.to, got, err, c.want)
			}
		}
		if _, err := g.ElapsedTime(events[0], 12345); err == nil {
			t.Errorf("%s: of an event that is not there: no error", name)
		}
	}
}

// TestElapsedTimeOfGraph: a launch takes the time of its nodes, and that of a piece of work.
func TestElapsedTimeOfGraph(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
	for range 3 {
		must(t, g.Launch(spec.Launch{Stream: s}))
	}
	graph, err := g.EndCapture(0, s)
	must(t, err)
	exec, err := g.Instantiate(graph)
	must(t, err)
	before, err := g.CreateTimedEvent(0)
	must(t, err)
	after, err := g.CreateTimedEvent(0)
	must(t, err)
	must(t, g.RecordEvent(before, 0, s))
	must(t, g.LaunchGraph(exec, 0, s))
	must(t, g.RecordEvent(after, 0, s))
	if took, err := g.ElapsedTime(before, after); err != nil || took != 4*time.Microsecond {
		t.Errorf("a graph of three kernels takes %v, %v", took, err)
	}
}

// TestDurationOfWork: a nanosecond for each thousand bytes, and a microsecond.
func TestDurationOfWork(t *testing.T) {
	for bytes, want := range map[uint64]int64{0: 1000, 999: 1000, 1000: 1001, 1999: 1001} {
		w := &work{reads: []spec.Range{{Bytes: bytes / 2}}, writes: []spec.Range{{Bytes: bytes - bytes/2}}}
		if got := w.duration().Nanoseconds(); got != want {
			t.Errorf("%d bytes: %d ns, want %d", bytes, got, want)
		}
	}
}
