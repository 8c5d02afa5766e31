package torch

import (
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/upstream"
)

// What PyTorch does otherwise, shown on its own allocator. A PyTorch that is mended turns
// these tests red, and a deviation ends with the release before.

// TestUnmapWaitsForTheCurrentDevice: before pages of an expandable segment are unmapped,
// PyTorch waits for the segment's stream by its handle, with whatever device is current. The
// handle of every device's default stream is 0.
func TestUnmapWaitsForTheCurrentDevice(t *testing.T) {
	forReleases(t, "", upstream.FindDeviation("expandable/unmap-current-device").Until)
	open(t)
	emptied := func(factory perform.Factory, current spec.Device) []fakegpu.Hazard {
		t.Helper()
		gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB), Hazards: true})
		h := trace.Header{Geometry: spec.DefaultGeometry(), Devices: 2, Settings: "expandable_segments:True"}
		a, err := factory(gpu, &h)
		must(t, err)
		p, err := a.Malloc(spec.Request{Device: 1, Bytes: 2 * spec.MiB})
		must(t, err)
		must(t, gpu.Launch(spec.Launch{Device: 1, Name: "slow", Writes: []spec.Range{{Ptr: p, Bytes: 512}}}))
		must(t, a.Free(p))
		_, err = a.Malloc(spec.Request{Device: current, Stream: 0, Bytes: 32 * spec.MiB}) // makes the device current
		must(t, err)
		must(t, a.EmptyCache())
		return gpu.Hazards()
	}
	if found := emptied(New, 1); len(found) > 0 {
		t.Errorf("PyTorch, with the device current: %v", found)
	}
	if found := emptied(reference.New, 0); len(found) > 0 {
		t.Errorf("the reference: %v", found)
	}
	found := emptied(New, 0)
	if len(found) != 1 || found[0].Kind != fakegpu.Returned {
		t.Errorf("PyTorch, with another device current: %v, want memory that is unmapped under work", found)
	}
	t.Log(found)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
