package fakegpu

import "gaugeblock/spec"

// A MemoryCall is a call of the driver by which a process gets memory or addresses, or
// gives them back: Malloc, Free, ReserveAddress, FreeAddress, CreatePage, MapPage, UnmapPage. A
// ReserveAddress for a pool of the driver's is followed by a ReserveForPool.
type MemoryCall struct {
	Call   string // in the words of spec.DriverCalls
	Device spec.Device
	Ptr    spec.Ptr // 0 for CreatePage, and for what was refused
	Bytes  uint64   // 0 for Free
	Err    error    // nil: it succeeded
}

// OnMemoryCall registers a function that is called after each MemoryCall, in the order of
// registration. The machine's lock is held: the function must not call the GPU.
func (g *GPU) OnMemoryCall(f func(MemoryCall)) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.listeners = append(g.listeners, f)
}

// tell calls the registered functions.
func (g *GPU) tell(c call, dev spec.Device, p spec.Ptr, bytes uint64, err error) {
	for _, f := range g.listeners {
		f(MemoryCall{Call: c.String(), Device: dev, Ptr: p, Bytes: bytes, Err: err})
	}
}
