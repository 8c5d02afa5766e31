package fakegpu

import (
	"math/rand/v2"
	"slices"

	"gaugeblock/spec"
)

// When work is done. A real device is free to do independent work in any order and
// at any time; a program is right only if it is right for all of them. Without a
// schedule work that nothing holds is done as soon as it is given, which is the
// luckiest order there is. With one it is queued, and the schedule chooses: before
// each call of the driver, whether some of it is done, and whose; when the host
// waits, in what order all that is waited for is done; and in what order the nodes
// of a graph are, as far as their dependencies leave a choice.
//
// Each piece of work writes something of its own (contents.go), and under a schedule
// what a kernel writes also depends on what it has read. So if the order mattered,
// it shows in what memory holds in the end.

// Schedule chooses what the device does next. It serves one machine, and is called
// with that machine's lock held.
type Schedule interface {
	// Pick says which of n streams, at least one, does its next piece of work:
	// a number below ready. If the host is not waiting it may also be ready itself:
	// the host goes on. When the host is waiting, stream 0 is one that it waits for.
	Pick(ready int, waiting bool) int
}

// Eager does everything as soon as possible.
func Eager() Schedule { return eager{} }

type eager struct{}

func (eager) Pick(int, bool) int { return 0 }

// Lazy does nothing before the host waits for it, and then only what is needed. A
// program that asks an event until it is complete never ends.
func Lazy() Schedule { return lazy{} }

type lazy struct{}

func (lazy) Pick(ready int, waiting bool) int {
	if waiting {
		return 0
	}
	return ready
}

// Random chooses at random, the same for equal seeds.
func Random(seed uint64) Schedule {
	return random{rand.New(rand.NewPCG(seed, 0))}
}

type random struct{ numbers *rand.Rand }

func (r random) Pick(ready int, waiting bool) int {
	if waiting {
		return r.numbers.IntN(ready)
	}
	return r.numbers.IntN(ready + 1)
}

// progress lets the schedule do work before a call.
func (g *GPU) progress() {
	g.callFunctions()
	if b, is := g.schedule.(*byTime); is {
		b.pass(g)
		return
	}
	for {
		ready := g.ready()
		if len(ready) == 0 {
			return
		}
		i := g.schedule.Pick(len(ready), false)
		if i == len(ready) {
			return
		}
		g.step(ready[i])
	}
}

// force lets the schedule do work until a mark is complete, or cannot be because
// the caller holds a stream busy.
func (g *GPU) force(m mark) {
	if b, is := g.schedule.(*byTime); is {
		b.force(g, m)
		return
	}
	for {
		ready := g.ready()
		if m.complete() {
			return
		}
		needed := m.needed()
		if needed == nil {
			return
		}
		i := slices.Index(ready, needed)
		if i < 0 { // it is another process's
			g.owner(needed).step(needed)
			continue
		}
		ready[0], ready[i] = ready[i], ready[0]
		g.step(ready[g.schedule.Pick(len(ready), true)])
	}
}

// forceDevice is force for all work of a device.
func (g *GPU) forceDevice(dev spec.Device) {
	for _, s := range slices.Clone(g.inOrder) {
		if s.device == dev {
			g.force(s.end())
		}
	}
}

// ready lists the streams that have work to do next, in order of creation. What
// comes before it in a queue and is no work is done away with.
func (g *GPU) ready() (streams []*stream) {
	for moved := true; moved; {
		moved = false
		for _, s := range g.inOrder {
			for s.runnable() && s.queue[0].work == nil {
				s.passBy(g)
				moved = true
			}
		}
	}
	for _, s := range g.inOrder {
		if s.runnable() {
			streams = append(streams, s)
		}
	}
	return streams
}

// passBy takes the head of the queue, which is no work.
func (s *stream) passBy(g *GPU) {
	next := s.queue[0]
	s.take()
	if _, is := g.schedule.(*byTime); !is {
		g.machine.clock += perWork
		s.passed(g.machine.clock)
		return
	}
	s.clock = max(s.clock, next.given)
	if next.over != nil {
		s.clock = max(s.clock, *next.over)
	}
	s.passed(s.clock)
}

// needed finds a stream whose next work has to be done before a mark is complete,
// nil if a closed gate comes first.
func (m mark) needed() *stream {
	s := m.stream
	for s.queue[0].work == nil {
		if s.queue[0].gate {
			return nil
		}
		s = s.queue[0].wait.stream
	}
	return s
}

// step does a stream's next piece of work.
func (g *GPU) step(s *stream) {
	g.run(s.take())
	s.passed(g.machine.clock)
}

// nodeOrder is the order in which a graph's nodes are done: that of their capture,
// or what the schedule makes of their dependencies.
func (g *GPU) nodeOrder(nodes []*node) []int {
	left := make([]int, len(nodes))
	for i := range left {
		left[i] = i
	}
	if g.schedule == nil {
		return left
	}
	var order []int
	done := map[spec.GraphNode]bool{}
	for len(left) > 0 {
		var ready []int // places in left
		for at, i := range left {
			if !slices.ContainsFunc(nodes[i].after, func(n spec.GraphNode) bool { return !done[n] }) {
				ready = append(ready, at)
			}
		}
		at := ready[0]
		if len(ready) > 1 {
			at = ready[g.schedule.Pick(len(ready), true)]
		}
		done[nodes[left[at]].handle] = true
		order = append(order, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return order
}
