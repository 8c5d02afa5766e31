package fakegpu

import (
	"slices"

	"gaugeblock/spec"
)

// What Free waits for. Measured on two H200 (CUDA 13.0, driver 580), with streams held:
//
//   - It takes the access of other devices to the memory away at once, and then waits for
//     all streams of the memory's device. So work of another device that has yet to touch the
//     memory never finds it, whatever events put it before work of this device.
//   - A copy between devices of which one does not reach the other's memory is work of both:
//     Free of either one's memory waits for it, and it finds the memory.
//   - It waits for no other work of other devices.
//
// A Free that is refused because it would wait for ever has taken the access away all the same.

// onDevices are the devices that work is of.
func (w *work) onDevices() access {
	devices := accessOf(w.device)
	if w.kind == workCopy {
		devices = devices.with(w.reader).with(w.writer)
	}
	return devices
}

// reacher is the device through which a copy by a device reaches one side: itself if it has
// access there.
func (g *GPU) reacher(by, of spec.Device, r spec.Range) spec.Device {
	var room [4]part
	if _, reason := g.resolve(by, r, room[:0]); by != of && reason == "" {
		return by
	}
	return of
}

// awaitRelease waits before a piece is freed.
func (g *GPU) awaitRelease(a *area) error {
	a.leaving = true
	if g.schedule != nil {
		g.forceDevice(a.device)
		for _, s := range slices.Clone(g.inOrder) {
			g.force(s.lastOf(a.device))
		}
	}
	if !g.machine.config.FreeWaits || g.machine.queued.items == 0 {
		return nil
	}
	if err := g.awaitDevice(callFree, a.device); err != nil {
		return err
	}
	for _, s := range slices.Clone(g.inOrder) {
		if err := g.await(callFree, s.lastOf(a.device), "a copy of the device"); err != nil {
			return err
		}
	}
	return nil
}

// lastOf is the position behind the last work in the queue that is also of a device; the zero
// mark if there is none.
func (s *stream) lastOf(dev spec.Device) mark {
	if s.device == dev {
		return mark{}
	}
	for i := len(s.queue) - 1; i >= 0; i-- {
		if w := s.queue[i].work; w != nil && w.onDevices().has(dev) {
			return mark{s, s.done + uint64(i) + 1}
		}
	}
	return mark{}
}
