package fakegpu

import (
	"slices"

	"gaugeblock/spec"
)

// Events of several processes (cudaIpcGetEventHandle, cudaIpcOpenEventHandle). The event is one:
// whoever records it records it for all. A wait for it is one for the other process's stream. What
// comes before it is not known to the detector of hazards, which looks at one process.

var eventMagic = [8]byte{'f', 'a', 'k', 'e', 'e', 'v', 'e', 'n'}

// ShareEvent makes a handle of an event of the process's own.
func (g *GPU) ShareEvent(handle spec.EventHandle) ([]byte, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	e, err := g.event(callShareMemory, handle)
	if err != nil {
		return nil, err
	}
	if e.opened[g] {
		return nil, cudaErrorInvalidResourceHandle.in(callShareMemory, "event %#x is another process's", uint64(handle))
	}
	return encodeHandle(eventMagic, g.pid, uint64(handle)), nil
}

// OpenEvent opens an event of another process.
func (g *GPU) OpenEvent(shared []byte) (spec.EventHandle, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	numbers, ok := decodeHandle(eventMagic, shared)
	if !ok {
		return 0, cudaErrorInvalidValue.in(callOpenMemory, "%d bytes that are no event's handle", len(shared))
	}
	if numbers[0] == g.pid {
		return 0, cudaErrorDeviceUninitialized.in(callOpenMemory, "the handle is the process's own")
	}
	owner := g.machine.process(numbers[0])
	if owner == nil || owner.events[spec.EventHandle(numbers[1])] == nil {
		return 0, cudaErrorInvalidValue.in(callOpenMemory, "process %d has no such event", numbers[0])
	}
	e := owner.events[spec.EventHandle(numbers[1])]
	if e.opened == nil {
		e.opened = map[*GPU]bool{}
	}
	e.opened[g] = true
	handle := spec.EventHandle(g.newHandle())
	g.events[handle] = e
	g.machine.linked = true
	return handle, nil
}

// follows reports whether the process's detector knows what comes before the event.
func (e *event) follows(g *GPU) bool { return e.recorder == nil || e.recorder == g }

// all are the processes whose streams may wait for each other's, this one first.
func (g *GPU) all() []*GPU {
	if !g.machine.linked {
		return g.alone[:]
	}
	all := []*GPU{g}
	for _, p := range g.machine.processes {
		if p != g && !p.exited {
			all = append(all, p)
		}
	}
	return all
}

// owner is the process that a stream is of.
func (g *GPU) owner(s *stream) *GPU {
	for _, p := range g.all() {
		if slices.Contains(p.inOrder, s) {
			return p
		}
	}
	return g
}

// abandon lets what waits for the process's streams go on, since nothing else will.
func (g *GPU) abandon() {
	for _, s := range g.inOrder {
		s.queue, s.done = nil, s.given
		s.passed(g.machine.clock)
	}
}
