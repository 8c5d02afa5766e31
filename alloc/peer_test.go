package alloc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// launch runs a kernel of a device that writes to an address.
func launch(t *testing.T, gpu *fakegpu.GPU, dev spec.Device, p spec.Ptr) {
	t.Helper()
	must(t, gpu.Launch(spec.Launch{Device: dev, Name: "kernel", Writes: []spec.Range{{Ptr: p, Bytes: 512}}}))
}

// wantViolations expects n invalid accesses of device work.
func wantViolations(t *testing.T, gpu *fakegpu.GPU, want int) {
	t.Helper()
	if got := gpu.Violations(); len(got) != want {
		t.Errorf("%d violations, want %d: %v", len(got), want, got)
	}
}

// reachable lists the devices that can access the memory at an address.
func reachable(t *testing.T, gpu *fakegpu.GPU, p spec.Ptr) (devices []spec.Device) {
	t.Helper()
	for dev := range spec.Device(gpu.DeviceCount()) {
		before := len(gpu.Violations())
		launch(t, gpu, dev, p)
		if len(gpu.Violations()) == before {
			devices = append(devices, dev)
		}
	}
	return devices
}

// TestPeerAccess: a peer can access all memory of a device, of every kind: what was
// allocated before the peer was enabled, and what is allocated later.
func TestPeerAccess(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		t.Run(settings, func(t *testing.T) {
			gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)})
			a := newAllocator(t, gpu, settings)
			want := func(p spec.Ptr, want ...spec.Device) {
				t.Helper()
				if diff := cmp.Diff(want, reachable(t, gpu, p)); diff != "" {
					t.Errorf("who can reach %v (-want +got):\n%s", p, diff)
				}
			}
			old := mustMalloc(t, a, 0, 60*mib)
			gap := mustMalloc(t, a, 0, 60*mib)
			last := mustMalloc(t, a, 0, 60*mib)
			must(t, a.Free(gap))
			must(t, a.EmptyCache())
			want(old, 0)

			must(t, a.EnablePeerAccess(1, 0))
			want(old, 0, 1)
			want(last, 0, 1)
			grown := mustMalloc(t, a, 0, 100*mib)
			small := mustMalloc(t, a, 0, 512) // a segment of its own
			want(grown, 0, 1)
			want(small, 0, 1)

			must(t, a.EnablePeerAccess(2, 0))
			must(t, a.EnablePeerAccess(2, 0))
			filled := mustMalloc(t, a, 0, 60*mib) // in the gap
			want(old, 0, 1, 2)
			want(filled, 0, 1, 2)
			// It is not mutual.
			want(mustMalloc(t, a, 1, 60*mib), 1)
		})
	}
}

// TestPeerOfOpenedMemory: pages of another process become reachable as well, those
// that are open already and those that are opened later.
func TestPeerOfOpenedMemory(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(3, spec.GiB)})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, sender, "expandable_segments:True"), newAllocator(t, receiver, "")
	shared := func(stream spec.Stream) []byte { // of a segment of its own
		return share(t, a, mustMallocOn(t, a, 0, stream, 60*mib)).Handle
	}
	early := open(t, b, 0, shared(0))
	second := open(t, b, 0, shared(newStream(t, sender, 0)))
	failure := errors.New("access cannot be given")
	must(t, receiver.FailCall("SetAccess", 2, failure))
	if err := b.EnablePeerAccess(2, 0); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	must(t, b.EnablePeerAccess(2, 0))
	late := open(t, b, 0, shared(newStream(t, sender, 0)))
	for _, m := range []spec.OpenedMemory{early, second, late} {
		if diff := cmp.Diff([]spec.Device{0, 2}, reachable(t, receiver, m.Base())); diff != "" {
			t.Errorf("who can reach %v (-want +got):\n%s", m.Base(), diff)
		}
	}
}

// meeting is a driver under which EnablePeerAccess waits, with the device's mutex held,
// until another goroutine is in the middle of OpenHandle.
type meeting struct {
	*fakegpu.GPU
	importing chan struct{}
}

func (m *meeting) EnablePeerAccess(dev, peer spec.Device) error {
	<-m.importing
	return m.GPU.EnablePeerAccess(dev, peer)
}

func (m *meeting) ImportPage(pid uint64, share spec.ShareType, handle []byte) (spec.PageHandle, error) {
	close(m.importing)
	return m.GPU.ImportPage(pid, share, handle)
}

// TestEnablePeerWhileOpening: OpenHandle takes the device's mutex while it holds that
// of the opened handles, so EnablePeerAccess must not take them in the opposite order.
// (If it does, this test does not end.)
func TestEnablePeerWhileOpening(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a := newAllocator(t, sender, "expandable_segments:True")
	b := newAllocator(t, &meeting{receiver, make(chan struct{})}, "")
	handle := share(t, a, mustMalloc(t, a, 0, 20*mib)).Handle
	opened := make(chan spec.OpenedMemory)
	go func() {
		m, err := b.OpenHandle(0, handle)
		if err != nil {
			t.Error(err)
		}
		opened <- m
	}()
	must(t, b.EnablePeerAccess(1, 0))
	if diff := cmp.Diff([]spec.Device{0, 1}, reachable(t, receiver, (<-opened).Base())); diff != "" {
		t.Errorf("who can reach it (-want +got):\n%s", diff)
	}
}

// TestPeerFails: access cannot be set for one of the ranges. The device is then not a
// peer. The next attempt does the rest.
func TestPeerFails(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	a := newAllocator(t, gpu, "expandable_segments:True")
	p, q := mustMalloc(t, a, 0, 60*mib), mustMalloc(t, a, 0, 512)
	must(t, gpu.FailCall("SetAccess", 2, fakegpu.UnknownError("SetAccess")))
	wantError[*spec.DriverError](t, a.EnablePeerAccess(1, 0), "SetAccess")
	if diff := cmp.Diff([]spec.Device{0}, reachable(t, gpu, q)); diff != "" {
		t.Errorf("who can reach the second (-want +got):\n%s", diff)
	}
	must(t, a.EnablePeerAccess(1, 0))
	for _, p := range []spec.Ptr{p, q, mustMalloc(t, a, 0, 100*mib)} {
		if diff := cmp.Diff([]spec.Device{0, 1}, reachable(t, gpu, p)); diff != "" {
			t.Errorf("who can reach %v (-want +got):\n%s", p, diff)
		}
	}
}

// TestPeerErrors: invalid arguments.
func TestPeerErrors(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB), NoPeerAccess: true})
	a := newAllocator(t, gpu, "")
	wantError[*spec.InvalidArgumentError](t, a.EnablePeerAccess(1, 1), "no access to itself")
	wantError[*spec.InvalidArgumentError](t, a.EnablePeerAccess(2, 0), "there is no device 2")
	wantError[*spec.InvalidArgumentError](t, a.EnablePeerAccess(0, 2), "there is no device 2")
	wantError[*spec.DriverError](t, a.EnablePeerAccess(1, 0), "letting device 1 reach device 0")
	for _, pair := range [][2]spec.Device{{2, 0}, {0, 2}} {
		_, err := a.CopyKind(pair[0], pair[1], true)
		wantError[*spec.InvalidArgumentError](t, err, "there is no device 2")
	}
}

// TestCopyKind: an ordinary copy is right on one device, between peers, and as long as
// neither device has expandable segments.
func TestCopyKind(t *testing.T) {
	const direct, peer = spec.CopyDirect, spec.CopyPeer
	for _, test := range []struct {
		growing          string // which of the devices 0 and 1 have an expandable segment
		same, apart, p2p spec.CopyKind
	}{
		{"", direct, direct, direct},
		{"0", direct, peer, direct},
		{"1", direct, peer, direct},
		{"01", direct, peer, direct},
	} {
		gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
		a := newAllocator(t, gpu, "")
		mustMalloc(t, a, 0, 20*mib)
		must(t, a.Configure("expandable_segments:True"))
		var out []spec.Ptr
		for _, dev := range test.growing {
			out = append(out, mustMalloc(t, a, spec.Device(dev-'0'), 60*mib))
		}
		want := func(dst, src spec.Device, enabled bool, want spec.CopyKind) {
			t.Helper()
			if got, err := a.CopyKind(dst, src, enabled); got != want || err != nil {
				t.Errorf("growing %q: from %d to %d, peers %v: %v, %v, want %v", test.growing, src, dst, enabled, got, err, want)
			}
		}
		want(0, 0, false, test.same)
		want(1, 1, false, test.same)
		want(0, 1, false, test.apart)
		want(1, 0, false, test.apart)
		want(0, 1, true, test.p2p)
		want(1, 0, true, test.p2p)
		// When the segments are released it is as at first, whatever the settings.
		for _, p := range out {
			must(t, a.Free(p))
		}
		must(t, a.EmptyCache())
		want(0, 1, false, direct)
	}
}
