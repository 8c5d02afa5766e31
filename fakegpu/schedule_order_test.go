package fakegpu_test

import (
	"maps"
	"slices"
)

// programOrder is the order of a program of TestOrderDecides.
type programOrder struct {
	*orderReference
	blocking bool
	launched []int // vertex of the end of the graph's latest launch
	races    int
}

func newProgramOrder(blocking bool) programOrder {
	return programOrder{orderReference: newOrderReference(), blocking: blocking}
}

// after is the order of the program with one more step.
func (o programOrder) after(step orderStep) programOrder {
	o.orderReference = &orderReference{
		before:   slices.Clone(o.before),
		streams:  maps.Clone(o.streams),
		events:   maps.Clone(o.events),
		knows:    map[int][]int{0: slices.Clone(o.knows[0])},
		accesses: slices.Clone(o.accesses),
	}
	switch step.Call {
	case "kernel":
		o.uses(o.action(step.Stream), []int{step.Read, step.ReadToo}, []int{step.Write})
	case "graph":
		o.launch(step.Stream)
	case "record":
		o.events[step.Event] = o.action(step.Stream)
	case "wait":
		if v, ok := o.events[step.Event]; ok {
			o.action(step.Stream, v)
		}
	case "sync":
		o.see(o.streams, step.Stream)
	case "sync event":
		o.see(o.events, step.Event)
	case "read":
		o.uses(o.action(step.Stream), []int{step.Read}, nil)
		o.see(o.streams, step.Stream)
	}
	return o
}

// action adds a vertex to a stream; one in the default stream is behind and before
// all of them, if streams are blocking.
func (o *programOrder) action(stream int, behind ...int) int {
	both := o.blocking && stream == 0
	if both {
		behind = slices.AppendSeq(behind, maps.Values(o.streams))
	}
	v := o.submit(stream, behind...)
	if both {
		o.release(v)
	}
	return v
}

func (o *programOrder) release(v int) {
	for stream := range 3 {
		o.streams[stream] = v
	}
}

// launch is the graph that orderRun captures: its first node is before two others, of
// which the second alone is before the last.
func (o *programOrder) launch(stream int) {
	begin := o.action(stream, o.launched...)
	first := o.vertex(begin)
	o.uses(first, []int{0}, []int{1})
	left := o.vertex(first)
	o.uses(left, []int{1}, []int{2})
	right := o.vertex(first)
	o.uses(right, []int{1}, []int{3})
	last := o.vertex(right)
	o.uses(last, []int{3}, []int{3})
	end := o.vertex(begin, left, last)
	o.launched = []int{end}
	o.streams[stream] = end
	if o.blocking && stream == 0 {
		o.release(end)
	}
}

// uses tells of accesses, each piece of work being a lifetime of its own, so that all
// races count.
func (o *programOrder) uses(vertex int, reads, writes []int) {
	var touched []refAccess
	for _, c := range reads {
		touched = append(touched, refAccess{vertex: vertex, cell: c, lifetime: uint64(vertex)})
	}
	for _, c := range writes {
		touched = append(touched, refAccess{vertex: vertex, cell: c, write: true, lifetime: uint64(vertex)})
	}
	o.races += len(o.access(touched...))
}
