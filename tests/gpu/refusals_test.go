package gpu

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestRefusals: what the driver is not asked is refused in words that say what is wrong, and leaves what was
// taken as it is.
func TestRefusals(t *testing.T) {
	note(t)
	gpu := openReal(t).(real).GPU
	const bytes = 256 * spec.MiB
	r, err := gpu.ReserveAddress(0, bytes)
	must(t, err)
	page, err := gpu.CreatePage(0, bytes, spec.SharePOSIX)
	must(t, err)
	must(t, gpu.MapPage(r, bytes, page))
	p, err := gpu.Malloc(0, spec.MiB)
	must(t, err)
	held := len(gpu.Leaks())
	nowhere := spec.Device(gpu.DeviceCount())
	second := func(_ any, err error) error { return err }
	for _, test := range []struct {
		err  error
		says string
	}{
		{second(gpu.CreatePage(0, bytes, 99)), "there is no share type 99"},
		{second(gpu.CreatePage(nowhere, bytes, spec.SharePOSIX)), fmt.Sprintf("there is no device %d", nowhere)},
		{second(gpu.Malloc(-1, bytes)), "there is no device -1"},
		{gpu.UnmapPage(r, bytes/2), fmt.Sprintf("the page at %v has %d bytes, not %d", r, uint64(bytes), uint64(bytes/2))},
		{gpu.UnmapPage(p, bytes), "there is no mapping"},
		{gpu.FreeAddress(r, bytes/2), fmt.Sprintf("the range at %v has %d bytes, not %d", r, uint64(bytes), uint64(bytes/2))},
		{gpu.FreeAddress(r, bytes), fmt.Sprintf("a page is mapped at %v", r)},
		{second(gpu.NodeDependencies(0)), "there is no node 0"},
		{second(gpu.OpenMemory(0, []byte("short"))), "a handle has 64 bytes, not 5"},
		{second(gpu.ImportPage(0, spec.ShareFabric, []byte("short"))), "5 bytes that are no"},
		{gpu.EnablePeerAccess(nowhere, 0), fmt.Sprintf("there is no device %d", nowhere)},
		{gpu.EnablePeerAccess(0, nowhere), fmt.Sprintf("there is no device %d", nowhere)},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%v does not say %q", test.err, test.says)
		}
	}
	if leaks := gpu.Leaks(); len(leaks) != held {
		t.Errorf("%d things are held, %d were: %q", len(leaks), held, leaks)
	}
	must(t, gpu.Close())
}

// TestStreamOf: a stream's device is the one that it was made on, and it alone takes part in its capture.
func TestStreamOf(t *testing.T) {
	note(t)
	gpu := openReal(t).(real).GPU
	for dev := range spec.Device(gpu.DeviceCount()) {
		s, err := gpu.CreateStream(dev)
		must(t, err)
		other, err := gpu.CreateStream(dev)
		must(t, err)
		if of, err := gpu.StreamDevice(s); err != nil || of != dev {
			t.Errorf("a stream of device %d is of device %d: %v", dev, of, err)
		}
		captured := func(want bool) {
			t.Helper()
			if gpu.StreamCaptured(dev, s) != want || gpu.StreamCaptured(dev, other) || gpu.StreamCaptured(dev, 0) || gpu.StreamCaptured(-1, s) {
				t.Errorf("device %d: a stream is captured: %v, others: %v, %v, %v; want %v", dev,
					gpu.StreamCaptured(dev, s), gpu.StreamCaptured(dev, other), gpu.StreamCaptured(dev, 0), gpu.StreamCaptured(-1, s), want)
			}
		}
		captured(false)
		must(t, gpu.BeginCapture(dev, s, spec.CaptureRelaxed))
		captured(true)
		_, err = gpu.EndCapture(dev, s)
		must(t, err)
		captured(false)
	}
	must(t, gpu.Close())
}
