package fakegpu

import (
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

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

// ExpectStrangers says that threads will appear of which nobody says who has started
// them: a thread that is new has seen nothing complete.
func (g *GPU) ExpectStrangers() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.ExpectStrangers()
}

// EndThread says that a host thread makes no more calls. Whoever has its number later is
// another one.
func (g *GPU) EndThread(t spec.Thread) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.EndThread(t)
}

// Known is what the present thread has seen complete, for See.
func (g *GPU) Known() happensbefore.Clock {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.detect().order.Known()
}

// See says that the present thread is told of what another one has Known, as by whoever
// passes memory on to it.
func (g *GPU) See(known happensbefore.Clock) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.detect().order.See(known)
}

// HostAccess says that the present thread itself reads and writes memory which the
// device may touch as well: managed memory, or pinned memory of the host. What the thread
// has not seen complete may be under way, and what it submits later comes after the
// access. Access rights are not looked at.
func (g *GPU) HostAccess(name string, reads, writes []spec.Range) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	d := g.detect()
	m := moment{Moment: d.order.SubmitHost()}
	a := &act{kind: workHostAccess, name: name, host: true, line: g.line}
	d.pairs = d.pairs[:0]
	d.claimed = d.claimed[:0]
	for _, r := range reads {
		d.claim(g, a, claim{Range: r}, g.deviceOf(r.Ptr))
	}
	for _, r := range writes {
		d.claim(g, a, claim{Range: r, write: true}, g.deviceOf(r.Ptr))
	}
	for _, c := range d.claimed {
		d.use(&m, a, c)
	}
}

// deviceOf is the device whose memory an address is in, 0 if it is in none.
func (g *GPU) deviceOf(p spec.Ptr) spec.Device {
	if a := g.space.around(p); a != nil {
		return a.device
	}
	return 0
}
