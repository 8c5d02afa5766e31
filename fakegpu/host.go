package fakegpu

import "gaugeblock/spec"

// Host threads. Calls do not say which thread makes them, so all calls of a process
// count as made by one thread, unless the program says otherwise. What one thread
// has waited for orders only what that same thread launches later: another thread
// would have to hear of it. Each of these calls turns the detection of hazards on.

// SetThread says which host thread makes the calls from here on; 0 does at first. A
// thread that is new has been started by the one before, and knows what that one
// has seen complete.
func (g *GPU) SetThread(t spec.Thread) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.SetThread(t)
}

// Thread is the host thread that makes the calls, as SetThread has said.
func (g *GPU) Thread() spec.Thread {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.detect().order.Thread()
}

// OrderThreads says that what one host thread has done comes before whatever
// another does from here on, as when it sends on a channel, unlocks a lock that the
// other then takes, or is joined. A lock can be described as a thread: those who unlock
// it come before it, and it comes before those who lock it.
func (g *GPU) OrderThreads(before, after spec.Thread) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.OrderThreads(before, after)
}
