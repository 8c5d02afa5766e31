package fakegpu_test

import (
	"fmt"
	"slices"
)

// orderReference is the definition of what the detector does, without any thrift.
// Whatever a program does is a vertex of a graph, which has an edge from everything
// that is certain to be over before. Two accesses are in order if there is a path.
// Nothing is ever forgotten.
type orderReference struct {
	before   [][]int // by vertex: the vertices with an edge to it
	streams  map[int]int
	events   map[int]int
	knows    map[int][]int // by thread: vertices that it has seen to be over
	thread   int
	accesses []refAccess
	works    uint64
}

// refAccess is one cell touched by work, in a lifetime of the cell.
type refAccess struct {
	vertex   int
	who      string // the work, and the node
	cell     int
	write    bool
	lifetime uint64
	part     int // which of the work's ranges
}

func newOrderReference() *orderReference {
	return &orderReference{streams: map[int]int{}, events: map[int]int{}, knows: map[int][]int{}}
}

// vertex adds one behind others.
func (o *orderReference) vertex(behind ...int) int {
	o.before = append(o.before, behind)
	return len(o.before) - 1
}

// submit adds a vertex at the end of a stream.
func (o *orderReference) submit(stream int, behind ...int) int {
	behind = append(behind, o.knows[o.thread]...)
	if last, ok := o.streams[stream]; ok {
		behind = append(behind, last)
	}
	o.streams[stream] = o.vertex(behind...)
	return o.streams[stream]
}

func (o *orderReference) record(event, stream int) { o.events[event] = o.submit(stream) }

func (o *orderReference) wait(stream, event int) {
	if v, ok := o.events[event]; ok {
		o.submit(stream, v)
	}
}

// see: the present thread knows that a stream or event has come to its vertex.
func (o *orderReference) see(of map[int]int, what int) {
	if v, ok := of[what]; ok {
		o.knows[o.thread] = append(o.knows[o.thread], v)
	}
}

// past is the set of all vertices with a path to one of the given ones.
func (o *orderReference) past(of ...int) map[int]bool {
	past := map[int]bool{}
	todo := slices.Clone(of)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !past[v] {
			past[v] = true
			todo = append(todo, o.before[v]...)
		}
	}
	return past
}

// access adds accesses of one vertex, and lists the pairs that are not in order:
// who was first, who is second.
func (o *orderReference) access(news ...refAccess) (unordered []string) {
	for _, b := range news {
		past := o.past(b.vertex)
		for _, a := range o.accesses {
			if a.cell == b.cell && a.lifetime != b.lifetime && (a.write || b.write) && !past[a.vertex] {
				unordered = append(unordered, pairName(a.who, b.who))
			}
		}
	}
	o.accesses = append(o.accesses, news...)
	return unordered
}

// takeAway forgets the accesses of a cell, and lists those that the present thread
// has not seen to be over.
func (o *orderReference) takeAway(cell int) (unseen []string) {
	past := o.past(o.knows[o.thread]...)
	o.accesses = slices.DeleteFunc(o.accesses, func(a refAccess) bool {
		if a.cell == cell && !past[a.vertex] {
			unseen = append(unseen, pairName(a.who, ""))
		}
		return a.cell == cell
	})
	return unseen
}

func pairName(first, second string) string { return first + " | " + second }

func whoName(work uint64, name string) string { return fmt.Sprintf("%d %s", work, name) }
