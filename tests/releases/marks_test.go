package releases

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// unaware is an allocator for which every call is one of the thread whose current stream is the default one.
type unaware struct{ *alloc.Allocator }

func (u unaware) For(spec.Caller) spec.Allocator { return u }

// captureThread takes each call for one of the thread that captures, with whatever stream is current.
type captureThread struct {
	*alloc.Allocator
	captured spec.DeviceStream
}

func (c *captureThread) For(caller spec.Caller) spec.Allocator {
	if caller.Current.Stream != 0 {
		c.captured = caller.Current
	} else {
		caller.Current = c.captured
	}
	return c.Allocator.For(caller)
}

func (c *captureThread) Free(p spec.Ptr) error { return c.For(spec.Caller{}).Free(p) }
func (c *captureThread) RecordStream(p spec.Ptr, d spec.Device, s spec.Stream) error {
	return c.For(spec.Caller{}).RecordStream(p, d, s)
}
func (c *captureThread) EmptyCache() error { return c.For(spec.Caller{}).EmptyCache() }

// oneCapture counts captures as one: the first end of several ends all.
type oneCapture struct {
	*alloc.Allocator
	underway int
}

func (o *oneCapture) MarkCaptureBegin(dev spec.Device) error {
	if o.underway++; o.underway > 1 {
		return nil
	}
	return o.Allocator.MarkCaptureBegin(dev)
}

func (o *oneCapture) MarkCaptureEnd(dev spec.Device) error {
	if o.underway--; o.underway > 0 {
		err := o.Allocator.MarkCaptureEnd(dev)
		o.underway = -1 // the others are not marked any more
		return err
	}
	if o.underway < 0 {
		o.underway = 0
		return nil
	}
	return o.Allocator.MarkCaptureEnd(dev)
}

// TestMarksAreDrawn: the programs find an allocator that follows the release of its rules but for who calls, or how
// many captures are marked.
func TestMarksAreDrawn(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	release, _ := upstream.Find("2.13")
	right := func(d spec.Driver, h *trace.Header) (*alloc.Allocator, error) {
		return alloc.New(d, alloc.Options{Geometry: h.Geometry, Settings: h.Settings, Rules: release.Rules})
	}
	reference := func(d spec.Driver, h *trace.Header) (spec.Allocator, error) { return right(d, h) }
	wrong := map[string]func(*alloc.Allocator) spec.Allocator{
		"the reference":         func(a *alloc.Allocator) spec.Allocator { return a },
		"ignores callers":       func(a *alloc.Allocator) spec.Allocator { return unaware{a} },
		"knows one thread only": func(a *alloc.Allocator) spec.Allocator { return &captureThread{Allocator: a} },
		"knows one capture":     func(a *alloc.Allocator) spec.Allocator { return &oneCapture{Allocator: a} },
	}
	for name, make := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := departs(release.Name, 40, conformance.Options{
				New: perform.Factory(func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
					a, err := right(d, h)
					if err != nil {
						return nil, err
					}
					return make(a), nil
				}),
				Against: reference,
			}, "capture", "pools")
			if found := where != ""; found == (name == "the reference") {
				t.Errorf("found: %q", where)
			}
			t.Log(where)
		})
	}
}
