package fakegpu

import "gaugeblock/spec"

// Questions that no call of spec.Driver answers, because whoever asks those knows. CUDA's
// calls name no device where a stream or a pointer tells it.

// StreamDevice is the device that a stream is of, not a default stream.
func (g *GPU) StreamDevice(handle spec.Stream) (dev spec.Device, found bool) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s := g.streams[handle]
	if s == nil {
		return 0, false
	}
	return s.device, true
}

// StreamID is a number that no other stream has or had, unlike handles, which may be used
// again (cudaStreamGetId). That of a default stream is its device's.
func (g *GPU) StreamID(dev spec.Device, handle spec.Stream) (id uint64, found bool) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if s := g.streams[handle]; s != nil {
		return s.id, true
	}
	return uint64(dev), handle == 0
}

// MemoryAround is the piece, the opened memory or the reserved range that an address lies
// in, and the device that it is of.
func (g *GPU) MemoryAround(p spec.Ptr) (r spec.Range, dev spec.Device, found bool) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.areaMap.around(p)
	if a == nil {
		return spec.Range{}, 0, false
	}
	return a.Range, a.device, true
}

// IsPiece reports whether Malloc has given the memory that begins at an address.
func (g *GPU) IsPiece(p spec.Ptr) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.piece(areaPiece, p)
	return a != nil && a.graph == nil
}

// CreateStreamAs is CreateStream with a given handle, which must be new and not zero.
func (g *GPU) CreateStreamAs(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCreateStream); err != nil {
		return err
	}
	if _, err := g.view(callCreateStream, dev); err != nil {
		return err
	}
	if handle == 0 || g.streams[handle] != nil {
		return cudaErrorInvalidResourceHandle.in(callCreateStream, "there is a stream %v already", handle)
	}
	g.addStream(dev, handle)
	return nil
}
