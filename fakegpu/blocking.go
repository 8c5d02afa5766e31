package fakegpu

import "gaugeblock/spec"

// The legacy default stream. With Config.BlockingStreams the streams of CreateStream
// are made as by cudaStreamCreate, not by cudaStreamCreateWithFlags with
// cudaStreamNonBlocking; SetBlocking makes one stream such. Each device's default stream
// is the legacy one: before an action in it (work, recording an event, waiting for one)
// it waits for all blocking streams of the device, and afterwards they wait for it.
//
// While a blocking stream is captured such an action would depend on what does not
// run, so it is an error, and the capture is invalidated.
//
// These rules are from CUDA's documentation (stream synchronization behavior, and
// cudaErrorStreamCaptureImplicit); unlike those of capture.go they were not measured.

// SetAllBlocking makes all streams that are added from now on blocking ones, in all processes.
func (g *GPU) SetAllBlocking() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.machine.config.BlockingStreams = true
}

// IsBlocking reports whether a stream is a blocking one.
func (g *GPU) IsBlocking(handle spec.Stream) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s := g.streams[handle]
	return s != nil && s.blocking
}

// SetBlocking makes a stream a blocking one, as if it had been created so. Like
// AddStream it is not a call of the driver. The default stream cannot be blocking.
func (g *GPU) SetBlocking(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(sayAddStream, dev, handle)
	if err != nil {
		return err
	}
	if handle == 0 {
		return cudaErrorInvalidResourceHandle.in(sayAddStream, "the default stream does not wait for itself")
	}
	s.blocking = true
	if s.lane != nil {
		g.detector.order.SetBlocking(s.lane)
	}
	return nil
}

// barred refuses an action in a default stream while a stream that it would wait
// for is being captured.
func (g *GPU) barred(c call, s *stream) error {
	if s.handle != 0 || len(g.captures) == 0 {
		return nil
	}
	var refusal error
	for _, b := range g.inOrder {
		if b.blocking && b.device == s.device && b.capture != nil {
			refusal = b.capture.spoil(c, cudaErrorStreamCaptureImplicit, "%v would wait for %v, which is being captured", s, b)
		}
	}
	return refusal
}

// gatherBlocking makes a default stream wait for the blocking streams of its
// device, before an action in it.
func (g *GPU) gatherBlocking(s *stream) {
	g.gatherQueued(s)
	if s.handle == 0 && g.detector != nil {
		g.detector.order.GatherBlocking(g.detector.lane(s))
	}
}

func (g *GPU) gatherQueued(s *stream) {
	if s.handle != 0 || g.machine.queued.items == 0 {
		return
	}
	for _, b := range g.inOrder {
		if b.blocking && b.device == s.device && !b.idle() {
			s.push(item{wait: b.end()})
		}
	}
}

// releaseBlocking makes the blocking streams wait for the default stream, after an
// action in it.
func (g *GPU) releaseBlocking(s *stream) {
	g.releaseQueued(s)
	if s.handle == 0 && g.detector != nil {
		g.detector.order.ReleaseBlocking(g.detector.lane(s))
	}
}

func (g *GPU) releaseQueued(s *stream) {
	if s.handle != 0 || s.idle() {
		return
	}
	for _, b := range g.inOrder {
		if b.blocking && b.device == s.device && !b.destroyed {
			b.push(item{wait: s.end()})
		}
	}
}
