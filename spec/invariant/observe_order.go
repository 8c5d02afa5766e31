package invariant

import "gaugeblock/spec"

// streamOrder knows which work on the devices is certain to be over before which
// other work begins. It is built from what programs do (give work to streams, let
// streams wait for each other, wait for streams), with vector clocks: a position
// counts the work given to a stream, and each stream knows for every other one up
// to which position it waits.
//
//	A: work 1, work 2                 B waits for nothing
//	B waits for A                     B waits for A up to 2
//	A: work 3                         B waits for A up to 2
//
// Work given to B from now on begins when works 1 and 2 of A are over. Nothing is
// known about work 3, unless the program has seen it complete.
//
// # Captures
//
// What a stream does while it is captured does not run, it becomes a part of a
// graph. So a stream has two lanes, one for ordinary work and one for work of
// graphs. When a capture ends its lanes are complete: nothing is left in them that
// could run. A stream takes part in a capture from the moment at which it waits
// for one that does.
//
// A graph runs when it is launched, long after. As upstream, we count on the
// program to launch it behind what was in the stream before the capture; then the
// graph may use memory that the stream had used before.
type streamOrder struct {
	lanes    []streamLane
	byStream map[spec.DeviceStream]laneNumbers
	marks    map[spec.EventHandle]streamMark
	captures int // begun so far
}

// StreamPosition counts the work given to a stream, from 1.
type StreamPosition uint64

// streamLane is a sequence of work in order.
type streamLane struct {
	stream    spec.DeviceStream
	graph     bool // what is given to it becomes a part of a graph
	capture   int  // number of the capture under way, 0 if none
	submitted StreamPosition
	completed StreamPosition
	busy      bool // see settle

	// behind[i]: the lane's next work begins when lane i has come to there.
	behind []StreamPosition
}

// laneNumbers are the lanes of a stream.
type laneNumbers struct{ ordinary, graph int }

// streamUse is a position that has to be passed before memory is free.
type streamUse struct {
	lane     int
	position StreamPosition
}

// streamMark is a moment in a stream: up to where each lane has come by then, and
// the capture that the stream took part in.
type streamMark struct {
	capture int
	reached []StreamPosition
}

func newStreamOrder() streamOrder {
	return streamOrder{byStream: map[spec.DeviceStream]laneNumbers{}, marks: map[spec.EventHandle]streamMark{}}
}

// lanesOf are the lanes of a stream, which are made when it is first mentioned.
func (o *streamOrder) lanesOf(s spec.DeviceStream) laneNumbers {
	n, ok := o.byStream[s]
	if !ok {
		n = laneNumbers{ordinary: len(o.lanes), graph: len(o.lanes) + 1}
		o.lanes = append(o.lanes, streamLane{stream: s}, streamLane{stream: s, graph: true})
		o.byStream[s] = n
	}
	return n
}

// lane is the one that the stream's next work goes to.
func (o *streamOrder) lane(s spec.DeviceStream) int {
	n := o.lanesOf(s)
	if o.lanes[n.graph].capture != 0 {
		return n.graph
	}
	return n.ordinary
}

// capture is the number of the capture that the stream takes part in, 0 if none.
func (o *streamOrder) capture(s spec.DeviceStream) int { return o.lanes[o.lanesOf(s).graph].capture }

// submit gives a piece of work to a stream.
func (o *streamOrder) submit(s spec.DeviceStream) StreamPosition {
	l := &o.lanes[o.lane(s)]
	l.submitted++
	return l.submitted
}

// passed: a lane has come to the position.
func (o *streamOrder) passed(lane int, p StreamPosition) {
	l := &o.lanes[lane]
	l.completed = max(l.completed, min(p, l.submitted))
}

// allPassed: every lane has come to its position in the list.
func (o *streamOrder) allPassed(positions []StreamPosition) {
	for lane, p := range positions {
		o.passed(lane, p)
	}
}

// complete: the ordinary work of the stream has come to the position.
func (o *streamOrder) complete(s spec.DeviceStream, p StreamPosition) {
	o.passed(o.lanesOf(s).ordinary, p)
}

// synchronize: everything in the stream is over, and so is all that it waited for.
func (o *streamOrder) synchronize(s spec.DeviceStream) {
	o.allPassed(o.end(o.lanesOf(s).ordinary))
}

// drain: nothing holds up the stream any more, and everything in it is over.
func (o *streamOrder) drain(s spec.DeviceStream) {
	o.lanes[o.lanesOf(s).ordinary].busy = false
	o.synchronize(s)
}

// end is where each lane has come at least when the present end of one is reached.
func (o *streamOrder) end(lane int) []StreamPosition {
	l := &o.lanes[lane]
	own := make([]StreamPosition, lane+1)
	own[lane] = l.submitted
	return raise(own, l.behind)
}

// raise merges two lists of positions into the first.
func raise(into, from []StreamPosition) []StreamPosition {
	for lane, p := range from {
		if lane == len(into) {
			into = append(into, 0)
		}
		into[lane] = max(into[lane], p)
	}
	return into
}

// mark is the present end of the stream.
func (o *streamOrder) mark(s spec.DeviceStream) streamMark {
	lane := o.lane(s)
	return streamMark{o.lanes[lane].capture, o.end(lane)}
}

// record moves an event to the present end of the stream.
func (o *streamOrder) record(ev spec.EventHandle, s spec.DeviceStream) { o.marks[ev] = o.mark(s) }

// follow lets the stream's next work begin behind a mark.
func (o *streamOrder) follow(s spec.DeviceStream, m streamMark) {
	if m.capture != 0 && o.underWay(m.capture) {
		o.lanes[o.lanesOf(s).graph].capture = m.capture
	}
	l := &o.lanes[o.lane(s)]
	l.behind = raise(l.behind, m.reached)
}

// underWay reports whether a capture has not ended yet.
func (o *streamOrder) underWay(capture int) bool {
	for i := range o.lanes {
		if o.lanes[i].capture == capture {
			return true
		}
	}
	return false
}

// beginCapture starts a capture. Its work comes behind the stream's ordinary work.
func (o *streamOrder) beginCapture(s spec.DeviceStream) {
	o.captures++
	n := o.lanesOf(s)
	l := &o.lanes[n.graph]
	l.capture, l.behind = o.captures, o.end(n.ordinary)
}

// endCapture ends the capture that the stream takes part in.
func (o *streamOrder) endCapture(s spec.DeviceStream) {
	capture := o.capture(s)
	if capture == 0 {
		return
	}
	for i := range o.lanes {
		if l := &o.lanes[i]; l.capture == capture {
			l.capture, l.behind, l.completed = 0, nil, l.submitted
		}
	}
}

// uses lists what has to be over before nothing in the stream can touch memory that
// it could touch until now.
func (o *streamOrder) uses(s spec.DeviceStream) []streamUse {
	n := o.lanesOf(s)
	return o.running(n.ordinary, n.graph)
}

// usesOf is uses for a stream that was recorded.
func (o *streamOrder) usesOf(r recording) []streamUse {
	if r.captured {
		return o.running(o.lanesOf(r.stream).graph)
	}
	return o.uses(r.stream)
}

// running lists the present ends of those lanes that have not come there.
func (o *streamOrder) running(lanes ...int) (uses []streamUse) {
	for _, lane := range lanes {
		if u := (streamUse{lane, o.lanes[lane].submitted}); !o.over(u) {
			uses = append(uses, u)
		}
	}
	return uses
}

// over reports whether the work has completed.
func (o *streamOrder) over(u streamUse) bool { return o.lanes[u.lane].completed >= u.position }

// before reports whether the work is certain to be over when the stream's next
// work begins. Work of the stream itself is.
func (o *streamOrder) before(u streamUse, s spec.DeviceStream) bool {
	if o.over(u) || o.lanes[u.lane].stream == s {
		return true
	}
	behind := o.lanes[o.lane(s)].behind
	return u.lane < len(behind) && behind[u.lane] >= u.position
}

// settle completes what is over before a program's next operation on a device
// that is never slow: all ordinary work, except in streams that are busy and in
// those that wait for such work.
func (o *streamOrder) settle() {
	for progress := true; progress; {
		progress = false
		for i := range o.lanes {
			l := &o.lanes[i]
			if !l.graph && !l.busy && l.completed < l.submitted && o.unblocked(i) {
				l.completed = l.submitted
				progress = true
			}
		}
	}
}

// unblocked reports whether all is over that the lane's work waits for.
func (o *streamOrder) unblocked(lane int) bool {
	for i, p := range o.lanes[lane].behind {
		if i != lane && !o.over(streamUse{i, p}) {
			return false
		}
	}
	return true
}
