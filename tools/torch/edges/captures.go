package edges

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Captures writes the operations of a walk. If captures forbid to free memory, or are marked, a stream is
// captured while its requests are routed to a pool: otherwise nothing says so to the devices. Calls are then
// made with the default stream current, unless the walk says which is.
//
// The specification also gives work to captured streams that is not the graph's: the last uses of
// memory that was used before the capture. No program can. Until the capture ends no allocator may
// ask for such work, so it is given then, unless it is complete by then.
type Captures struct {
	Ops []trace.Op

	captures bool
	mode     spec.CaptureMode
	streams  map[int]int    // how many pools requests for a stream are routed to
	routed   map[uint64]int // by pool: the stream
	graphs   int
	deferred []launch
}

// launch is a piece of work: a stream waits for another one that is held.
type launch struct {
	stream int
	holds  trace.Op
	waits  trace.Op
}

// NewCaptures is for a walk on the scale.
func (s *Scale) NewCaptures() *Captures {
	mode := spec.CaptureRelaxed
	if s.Forbids {
		mode = spec.CaptureGlobal
	}
	return &Captures{captures: s.Forbids || s.Marks, mode: mode, streams: map[int]int{}, routed: map[uint64]int{}}
}

// Add appends operations.
func (c *Captures) Add(ops []trace.Op) {
	if !c.captures {
		c.Ops = append(c.Ops, ops...)
		return
	}
	for i := 0; i < len(ops); i++ {
		op := ops[i]
		if op.Current == nil && op.Kind != trace.OpMalloc && op.Kind.Target() == trace.TargetAllocator {
			op.Current = new(int)
		}
		switch {
		case op.Kind == trace.OpPoolBegin:
			c.begin(op)
		case op.Kind == trace.OpPoolEnd:
			c.end(op)
		case op.Kind == trace.OpBusy && c.streams[ops[i+1].Stream] > 0:
			c.deferred = append(c.deferred, launch{ops[i+1].Stream, op, ops[i+1]})
			i++
		case op.Kind == trace.OpDrain && c.complete(op.Stream):
		default:
			c.Ops = append(c.Ops, op)
		}
	}
}

func (c *Captures) begin(op trace.Op) {
	c.routed[op.Pool.Capture] = op.Stream
	if c.streams[op.Stream]++; c.streams[op.Stream] == 1 {
		c.Ops = append(c.Ops, trace.Op{Kind: trace.OpCaptureBegin, Stream: op.Stream, Mode: c.mode})
	}
	c.Ops = append(c.Ops, op)
}

func (c *Captures) end(op trace.Op) {
	c.Ops = append(c.Ops, op)
	stream := c.routed[op.Pool.Capture]
	if c.streams[stream]--; c.streams[stream] > 0 {
		return
	}
	c.graphs++
	c.Ops = append(c.Ops,
		trace.Op{Kind: trace.OpCaptureEnd, Stream: stream, Graph: c.graphs}, trace.Op{Kind: trace.OpGraphDestroy, Graph: c.graphs})
	for _, l := range c.deferred {
		if l.stream == stream {
			c.Ops = append(c.Ops, l.holds, l.waits)
		}
	}
	c.deferred = slices.DeleteFunc(c.deferred, func(l launch) bool { return l.stream == stream })
}

// complete completes work that was not given yet, if it is held by that stream.
func (c *Captures) complete(holder int) bool {
	i := slices.IndexFunc(c.deferred, func(l launch) bool { return l.holds.Stream == holder })
	if i >= 0 {
		c.deferred = slices.Delete(c.deferred, i, i+1)
	}
	return i >= 0
}
