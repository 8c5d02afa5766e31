package invariant

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// streamOrder is the order of a program's streams (package happensbefore), with its
// events by handle, its captures, and the work that its host knows to be complete.
//
// # Captures
//
// What a stream does while it is captured does not run, it becomes a part of a
// graph. So a captured stream has a second lane, for the nodes. When the capture ends
// the lane is complete: nothing is left in it that could run. A stream takes part in a
// capture from the moment at which it waits for one that does.
//
// A graph runs when it is launched, long after. As upstream, we count on the
// program to launch it after what was in the stream before the capture; then the
// graph may use memory that the stream had used before.
type streamOrder struct {
	*happensbefore.Order
	streams  []*streamLanes // in the order in which they were first mentioned
	marks    map[spec.EventHandle]streamMark
	captures int // begun so far
}

// streamLanes are the lanes of a stream.
type streamLanes struct {
	spec.DeviceStream
	ordinary *happensbefore.Lane
	graph    *happensbefore.Lane // nil unless the stream is captured
	capture  int                 // number of the capture under way, 0 if none
	busy     bool                // see completeUnblocked
}

// streamMark is a moment in a stream: what comes before it, and the capture that the
// stream took part in.
type streamMark struct {
	capture int
	clock   happensbefore.Clock
}

func newStreamOrder() streamOrder {
	return streamOrder{Order: happensbefore.New(), marks: map[spec.EventHandle]streamMark{}}
}

// of finds a stream, which gets its lane when it is first mentioned.
func (o *streamOrder) of(s spec.DeviceStream) *streamLanes {
	for _, l := range o.streams {
		if l.DeviceStream == s {
			return l
		}
	}
	l := &streamLanes{DeviceStream: s, ordinary: o.NewLane(s)}
	o.streams = append(o.streams, l)
	return l
}

// lane is the one that the stream's next work goes to.
func (l *streamLanes) lane() *happensbefore.Lane {
	if l.graph != nil {
		return l.graph
	}
	return l.ordinary
}

// capture is the number of the capture that the stream takes part in, 0 if none.
func (o *streamOrder) capture(s spec.DeviceStream) int { return o.of(s).capture }

// submit gives a piece of work to a stream.
func (o *streamOrder) submit(s spec.DeviceStream) happensbefore.Position {
	return o.Submit(o.of(s).lane()).Position
}

// complete: the ordinary work of the stream has come to the position.
func (o *streamOrder) complete(s spec.DeviceStream, p happensbefore.Position) {
	last := o.of(s).ordinary.Last()
	last.Position = min(last.Position, p)
	o.SeeWork(last)
}

// synchronize: everything in the stream is over, and so is all that it waited for.
func (o *streamOrder) synchronize(s spec.DeviceStream) { o.See(o.of(s).ordinary.Clock()) }

// drain: nothing holds up the stream any more, and everything in it is over.
func (o *streamOrder) drain(s spec.DeviceStream) {
	o.of(s).busy = false
	o.synchronize(s)
}

// mark is the present end of the stream.
func (o *streamOrder) mark(s spec.DeviceStream) streamMark {
	l := o.of(s)
	m := streamMark{capture: l.capture}
	o.Record(&m.clock, l.lane())
	return m
}

// record moves an event to the present end of the stream.
func (o *streamOrder) record(ev spec.EventHandle, s spec.DeviceStream) { o.marks[ev] = o.mark(s) }

// wait lets the stream's next work begin after a mark.
func (o *streamOrder) wait(s spec.DeviceStream, m streamMark) {
	l := o.of(s)
	if m.capture != 0 && o.underWay(m.capture) {
		o.join(l, m.capture)
	}
	o.Wait(l.lane(), m.clock)
}

// underWay reports whether a capture has not ended yet.
func (o *streamOrder) underWay(capture int) bool {
	return slices.ContainsFunc(o.streams, func(l *streamLanes) bool { return l.capture == capture })
}

// join makes a stream take part in a capture.
func (o *streamOrder) join(l *streamLanes, capture int) {
	l.capture = capture
	if l.graph == nil {
		l.graph = o.NewGraphLane(l.DeviceStream)
	}
}

// beginCapture starts a capture. Its work comes after the stream's ordinary work.
func (o *streamOrder) beginCapture(s spec.DeviceStream) {
	o.captures++
	l := o.of(s)
	o.join(l, o.captures)
	o.Wait(l.graph, l.ordinary.Clock())
}

// endCapture ends the capture that the stream takes part in.
func (o *streamOrder) endCapture(s spec.DeviceStream) {
	capture := o.capture(s)
	if capture == 0 {
		return
	}
	for _, l := range o.streams {
		if l.capture == capture {
			o.SeeWork(l.graph.Last())
			o.Retire(l.graph)
			l.capture, l.graph = 0, nil
		}
	}
}

// uses lists what has to be over before nothing in the stream can touch memory that
// it could touch until now.
func (o *streamOrder) uses(s spec.DeviceStream) []happensbefore.Epoch {
	l := o.of(s)
	return o.running(l.ordinary, l.graph)
}

// usesOf is uses for a stream that was recorded.
func (o *streamOrder) usesOf(r recording) []happensbefore.Epoch {
	if r.captured {
		return o.running(o.of(r.stream).graph)
	}
	return o.uses(r.stream)
}

// running lists the latest work of those lanes in which it is not over.
func (o *streamOrder) running(lanes ...*happensbefore.Lane) (uses []happensbefore.Epoch) {
	for _, l := range lanes {
		if l != nil && !o.Seen(l.Last()) {
			uses = append(uses, l.Last())
		}
	}
	return uses
}

// before reports whether the work is certain to be over when the stream's next
// work begins. Work of the stream itself is.
func (o *streamOrder) before(u happensbefore.Epoch, s spec.DeviceStream) bool {
	return o.Before(u, o.of(s).lane()) || o.Lane(u.Lane).Stream() == s
}

// completeUnblocked completes what is over before a program's next operation on a
// device that is never slow: all ordinary work, except in streams that are busy and in
// those that wait for such work.
func (o *streamOrder) completeUnblocked() {
	for progress := true; progress; {
		progress = false
		for _, l := range o.streams {
			if !l.busy && !o.Seen(l.ordinary.Last()) && o.unblocked(l.ordinary) {
				o.SeeWork(l.ordinary.Last())
				progress = true
			}
		}
	}
}

// unblocked reports whether all is over that the lane's work waits for.
func (o *streamOrder) unblocked(l *happensbefore.Lane) bool {
	own := l.Last().Lane
	for e := range l.Clock().Each() {
		if e.Lane != own && !o.Seen(e) {
			return false
		}
	}
	return true
}
