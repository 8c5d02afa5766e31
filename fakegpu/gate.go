package fakegpu

import "gaugeblock/spec"

// Gates one at a time. To close a gate (Busy) is to give a stream work that takes its
// time. Whoever wants to see every order in which such work can complete opens the
// gates of a stream one after the other instead of all at once (Drain).

// Gates is how many closed gates are in a stream: pieces of work that have not
// completed. Like Busy it is not a call of the driver, and it orders nothing.
func (g *GPU) Gates(dev spec.Device, handle spec.Stream) (closed int) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	for _, s := range g.inOrder {
		if s.device != dev || s.handle != handle {
			continue
		}
		for _, i := range s.queue {
			if i.gate {
				closed++
			}
		}
	}
	return closed
}

// OpenGate opens the oldest closed gate of a stream, and what is behind it goes on up
// to the next. It reports whether there was one.
func (g *GPU) OpenGate(dev spec.Device, handle spec.Stream) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	for _, s := range g.inOrder {
		if s.device != dev || s.handle != handle {
			continue
		}
		for i := range s.queue {
			if s.queue[i].gate {
				s.queue[i].gate = false
				g.advanceAll()
				return true
			}
		}
	}
	return false
}
