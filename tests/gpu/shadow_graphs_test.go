package gpu

import "gaugeblock/spec"

// What a shadow does of captures, graphs and virtual memory.

// BeginCapture implements spec.Executor.
func (s *shadow) BeginCapture(dev spec.Device, on spec.Stream, mode spec.CaptureMode) error {
	return s.follow("BeginCapture", s.GPU.BeginCapture(dev, on, mode), func() error {
		s.captures++
		return s.on.BeginCapture(dev, s.streams[on], mode)
	})
}

// EndCapture implements spec.Executor.
func (s *shadow) EndCapture(dev spec.Device, on spec.Stream) (spec.Graph, error) {
	g, err := s.GPU.EndCapture(dev, on)
	err = s.follow("EndCapture", err, func() (err error) {
		s.captures--
		s.graphs[g], err = s.on.EndCapture(dev, s.streams[on])
		return err
	})
	s.quiet()
	return g, err
}

// Instantiate implements spec.Executor.
func (s *shadow) Instantiate(g spec.Graph) (spec.GraphExec, error) {
	x, err := s.GPU.Instantiate(g)
	return x, s.follow("Instantiate", err, func() (err error) {
		s.execs[x], err = s.on.Instantiate(s.graphs[g])
		return err
	})
}

// LaunchGraph implements spec.Executor.
func (s *shadow) LaunchGraph(x spec.GraphExec, dev spec.Device, on spec.Stream) error {
	return s.follow("LaunchGraph", s.GPU.LaunchGraph(x, dev, on), func() error {
		return s.on.LaunchGraph(s.execs[x], dev, s.streams[on])
	})
}

// DestroyGraph implements spec.Executor.
func (s *shadow) DestroyGraph(g spec.Graph) error {
	return s.follow("DestroyGraph", s.GPU.DestroyGraph(g), func() error { return s.on.DestroyGraph(s.graphs[g]) })
}

// DestroyGraphExec implements spec.Executor.
func (s *shadow) DestroyGraphExec(x spec.GraphExec) error {
	return s.follow("DestroyGraphExec", s.GPU.DestroyGraphExec(x), func() error { return s.on.DestroyGraphExec(s.execs[x]) })
}

// ReserveAddress implements spec.VirtualMemory.
func (s *shadow) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	p, err := s.GPU.ReserveAddress(dev, bytes)
	return p, s.follow("ReserveAddress", err, func() error {
		real, err := s.on.ReserveAddress(dev, bytes)
		s.areas.Set(p, area{spec.Range{Ptr: p, Bytes: bytes}, real})
		return err
	})
}

// FreeAddress implements spec.VirtualMemory.
func (s *shadow) FreeAddress(p spec.Ptr, bytes uint64) error {
	return s.follow("FreeAddress", s.GPU.FreeAddress(p, bytes), func() error {
		a, _ := s.areas.Delete(p)
		return s.on.FreeAddress(a.real, bytes)
	})
}

// CreatePage implements spec.VirtualMemory. What the fake device has no handles for, the
// real one may have.
func (s *shadow) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	page, err := s.GPU.CreatePage(dev, bytes, share)
	return page, s.follow("CreatePage", err, func() (err error) {
		s.pages[page], err = s.on.CreatePage(dev, bytes, share)
		return err
	})
}

// ReleasePage implements spec.VirtualMemory.
func (s *shadow) ReleasePage(page spec.PageHandle) error {
	return s.follow("ReleasePage", s.GPU.ReleasePage(page), func() error { return s.on.ReleasePage(s.pages[page]) })
}

// MapPage implements spec.VirtualMemory.
func (s *shadow) MapPage(p spec.Ptr, bytes uint64, page spec.PageHandle) error {
	return s.follow("MapPage", s.GPU.MapPage(p, bytes, page), func() error {
		r, _ := s.there(spec.Range{Ptr: p, Bytes: bytes})
		return s.on.MapPage(r.Ptr, bytes, s.pages[page])
	})
}

// SetAccess implements spec.VirtualMemory.
func (s *shadow) SetAccess(p spec.Ptr, bytes uint64, dev spec.Device) error {
	return s.follow("SetAccess", s.GPU.SetAccess(p, bytes, dev), func() error {
		r, _ := s.there(spec.Range{Ptr: p, Bytes: bytes})
		return s.on.SetAccess(r.Ptr, bytes, dev)
	})
}

// UnmapPage implements spec.VirtualMemory.
func (s *shadow) UnmapPage(p spec.Ptr, bytes uint64) error {
	return s.follow("UnmapPage", s.GPU.UnmapPage(p, bytes), func() error {
		r, _ := s.there(spec.Range{Ptr: p, Bytes: bytes})
		return s.on.UnmapPage(r.Ptr, bytes)
	})
}

// EnablePeerAccess implements spec.PeerAccess.
func (s *shadow) EnablePeerAccess(dev, peer spec.Device) error {
	return s.follow("EnablePeerAccess", s.GPU.EnablePeerAccess(dev, peer), func() error { return s.on.EnablePeerAccess(dev, peer) })
}
