package fakegpu

// The legacy default stream. With Config.BlockingStreams the streams of CreateStream
// are made as by cudaStreamCreate, not by cudaStreamCreateWithFlags with
// cudaStreamNonBlocking, and each device's default stream is the legacy one: before
// an action in it (work, recording an event, waiting for one) it waits for all
// blocking streams of the device, and afterwards they wait for it.
//
// While a blocking stream is captured such an action would depend on what does not
// run, so it is an error, and the capture is invalidated.
//
// These rules are from CUDA's documentation (stream synchronization behavior, and
// cudaErrorStreamCaptureImplicit); unlike those of capture.go they were not measured.

// barred refuses an action in a default stream while a stream that it would wait
// for is being captured.
func (g *GPU) barred(c call, s *stream) error {
	if !g.machine.config.BlockingStreams || s.handle != 0 {
		return nil
	}
	var refusal error
	for _, b := range g.inOrder {
		if b.device == s.device && b.capture != nil {
			refusal = b.capture.spoil(c, cudaErrorStreamCaptureImplicit, "%v would wait for %v, which is being captured", s, b)
		}
	}
	return refusal
}

// gatherBlocking makes a default stream wait for the blocking streams of its
// device, before an action in it.
func (g *GPU) gatherBlocking(s *stream) {
	if !g.machine.config.BlockingStreams || s.handle != 0 {
		return
	}
	for _, b := range g.inOrder {
		if b != s && b.device == s.device && !b.idle() {
			s.push(item{wait: b.end()})
		}
	}
	if g.detector != nil {
		g.detector.order.WaitDevice(g.detector.lane(s))
	}
}

// releaseBlocking makes the blocking streams wait for the default stream, after an
// action in it.
func (g *GPU) releaseBlocking(s *stream) {
	if !g.machine.config.BlockingStreams || s.handle != 0 {
		return
	}
	for _, b := range g.inOrder {
		if b == s || b.device != s.device || b.destroyed {
			continue
		}
		if !s.idle() {
			b.push(item{wait: s.end()})
		}
		if g.detector != nil {
			d := g.detector
			d.order.Wait(d.lane(b), d.lane(s).Clock())
		}
	}
}
