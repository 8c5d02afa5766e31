package fakegpu

import (
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// A Point is a place in a stream's work.
type Point struct {
	stream *stream
	epoch  happensbefore.Epoch
}

// PointIn is the end of what was given to a stream. Asking for it turns the detection of hazards on.
func (g *GPU) PointIn(dev spec.Device, handle spec.Stream) (p Point, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(callRecordEvent, dev, handle)
	if err != nil {
		return Point{}, err
	}
	d := g.detect()
	return Point{s, d.order.Submit(d.lane(s)).Epoch}, nil
}

// Follows reports whether what is given to a stream next comes after a point, because the stream or
// the host has waited for it. Of the points of a destroyed stream that is not known.
func (g *GPU) Follows(dev spec.Device, handle spec.Stream, p Point) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(callRecordEvent, dev, handle)
	return err == nil && p.stream != nil && !p.stream.destroyed && g.detect().order.Before(p.epoch, g.detector.lane(s))
}

// QueryDefaultStream reports whether a device's default stream has done all that it was given, and
// what it would wait for. Unlike an event it gives the stream nothing that others wait for. While
// anything is being captured nothing is asked.
func (g *GPU) QueryDefaultStream(dev spec.Device) (complete, asked bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if len(g.captures) > 0 {
		return false, false, nil
	}
	if err := g.enter(callQueryEvent); err != nil {
		return false, true, err
	}
	s, err := g.stream(callQueryEvent, dev, 0)
	if err != nil {
		return false, true, err
	}
	for _, b := range g.inOrder {
		waited := b == s || b.blocking && b.device == s.device
		if !waited || b.idle() {
			continue
		}
		if !g.polled() || g.await(callQueryEvent, b.end(), "the stream") != nil {
			return false, true, nil
		}
	}
	if g.detector != nil {
		lane := g.detector.lane(s)
		g.detector.order.GatherBlocking(lane)
		g.detector.order.See(lane.Clock())
	}
	return true, true, nil
}
