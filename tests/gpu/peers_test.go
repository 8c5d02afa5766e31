package gpu

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// TestPeers: memory of one device is written on it, read by the other, and the other way
// round, by the kind of copy that the allocator says is right; before and after access
// was enabled, and for memory obtained before and after.
func TestPeers(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		t.Run(settings, func(t *testing.T) { onBoth(t, func(l *lab) { peers(l, settings) }) })
	}
}

func peers(l *lab, settings string) {
	if l.DeviceCount() < 2 {
		l.Skip("the machine has one device, two are needed")
	}
	able, err := l.CanAccessPeer(1, 0)
	l.must(err)
	if !able {
		l.Skip("device 1 cannot reach device 0")
	}
	a := l.reference(l.device, settings)
	before := newAcross(l, a)
	before.copies()
	l.must(a.EnablePeerAccess(1, 0))
	l.must(a.EnablePeerAccess(1, 0))
	before.reaches()
	before.copies()
	after := newAcross(l, a)
	after.reaches()
	after.copies()
	for _, x := range []*across{before, after} {
		for _, m := range x.memory {
			l.must(a.Free(m.Ptr))
		}
	}
}

// across is memory and a stream on each of two devices.
type across struct {
	*lab
	on     [2]spec.Stream
	memory [2]spec.Range
}

func newAcross(l *lab, a *alloc.Allocator) *across {
	x := &across{lab: l}
	for dev := range spec.Device(2) {
		x.on[dev] = l.stream(dev)
		x.memory[dev] = l.obtain(a, dev, x.on[dev], 3*spec.MiB)
	}
	return x
}

// copies copies from each device to the other, on a stream of the one that is read.
func (x *across) copies() {
	x.Helper()
	for from := range spec.Device(2) {
		to, value := 1-from, byte(10+from)
		x.must(x.Fill(from, x.on[from], x.memory[from], value))
		x.must(x.Copy(spec.Copy{
			Device: from, Stream: x.on[from], Bytes: x.memory[from].Bytes,
			Dst: x.memory[to].Ptr, DstDevice: to, Src: x.memory[from].Ptr, SrcDevice: from,
		}))
		x.must(x.SynchronizeStream(from, x.on[from]))
		x.must(x.has(to, x.on[to], x.memory[to], value))
	}
}

// reaches lets device 1 write memory of device 0 itself.
func (x *across) reaches() {
	x.Helper()
	x.must(x.Fill(1, x.on[1], x.memory[0], 33))
	x.must(x.SynchronizeStream(1, x.on[1]))
	x.must(x.has(0, x.on[0], x.memory[0], 33))
}
