package fakegpu

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Calls that wait. A real one returns when the device has caught up, however long
// that takes. Here a stream catches up only when its gate is opened, which whoever
// waits cannot do; so a wait that is not over at once is either refused, with the
// reason, or lets time pass until it is over. WaitPolicy says which.

// WaitPolicy says what becomes of a call that waits for a stream which is busy.
type WaitPolicy int

const (
	// WaitsFail: the call fails with ErrEndlessWait, naming the stream.
	WaitsFail WaitPolicy = iota
	// WaitsDrain: while the call waits the device catches up, just as far as the
	// call needs, as if the work had taken long but not for ever.
	WaitsDrain
)

// holder finds the stream whose closed gate keeps a mark, which must not be
// complete, from completing. It ends, since every wait is for something older.
func (m mark) holder() *stream {
	s := m.stream
	for !s.queue[0].gate {
		s = s.queue[0].wait.stream
	}
	return s
}

// endless is the error of a wait that cannot end: what is waited for, and why.
func endless(c call, m mark, what string) error {
	why := "is busy"
	if holder := m.holder(); holder != m.stream {
		why = fmt.Sprintf("waits for %v, which is busy", holder)
	}
	return cudaErrorNotReady.in(c, "%s %v %s, and nothing would end that", what, m.stream, why)
}

// await waits for a mark. What says what is waited for.
func (g *GPU) await(c call, m mark, what string) error {
	for !m.complete() {
		if g.schedule != nil {
			g.force(m)
			if m.complete() {
				break
			}
		}
		if g.machine.config.Waits == WaitsFail {
			return endless(c, m, "would wait for "+what+" for ever:")
		}
		m.holder().queue[0].gate = false
		g.advanceAll()
	}
	return nil
}

// awaitDevice waits for all streams of a device, destroyed ones included.
func (g *GPU) awaitDevice(c call, dev spec.Device) error {
	for g.machine.queued.items > 0 {
		i := slices.IndexFunc(g.inOrder, func(s *stream) bool { return s.device == dev && !s.idle() })
		if i < 0 {
			return nil
		}
		if err := g.await(c, g.inOrder[i].end(), "the device"); err != nil {
			return err
		}
	}
	return nil
}

// SynchronizeStream implements spec.Driver.
func (g *GPU) SynchronizeStream(dev spec.Device, handle spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callSynchronizeStream); err != nil {
		return err
	}
	s, err := g.stream(callSynchronizeStream, dev, handle)
	if err != nil {
		return err
	}
	if err := g.mayWait(callSynchronizeStream, s); err != nil {
		return err
	}
	if err := g.await(callSynchronizeStream, s.end(), "the stream"); err != nil {
		return err
	}
	if g.detector != nil {
		g.detector.order.See(g.detector.lane(s).Clock())
	}
	return nil
}

// SynchronizeDevice implements spec.Driver. While a stream of the device is being captured it is
// illegal in every capture mode; what another device captures does not matter, unlike for the other
// calls that wait (measured on two H200; the contract in spec is stricter).
func (g *GPU) SynchronizeDevice(dev spec.Device) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callSynchronizeDevice); err != nil {
		return err
	}
	if _, err := g.view(callSynchronizeDevice, dev); err != nil {
		return err
	}
	if len(g.captures) > 0 {
		for _, s := range g.inOrder {
			if s.device == dev && s.capture != nil {
				return s.capture.spoil(callSynchronizeDevice, cudaErrorStreamCaptureUnsupported, "%v is being captured", s)
			}
		}
	}
	if err := g.awaitDevice(callSynchronizeDevice, dev); err != nil {
		return err
	}
	if g.detector != nil {
		g.detector.order.SynchronizeDevice(dev)
	}
	return nil
}
