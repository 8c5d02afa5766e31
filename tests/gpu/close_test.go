package gpu

import (
	"errors"
	"testing"

	"gaugeblock/cudaimpl"
	"gaugeblock/spec"
)

// TestClose: one of everything, and two pieces of memory, are taken and nothing given back. Leaks lists all of it, and
// Close returns all of it: without an error, and the device has its memory again.
func TestClose(t *testing.T) {
	note(t)
	before := freeMemory(t)
	gpu := openReal(t).(real).GPU
	takeOneOfEach(t, gpu)
	// memory twice, page, range, mapping, stream, event, graph, executable graph
	if leaks := gpu.Leaks(); len(leaks) != 9 {
		t.Errorf("%d things are not released: %q", len(leaks), leaks)
	}
	must(t, gpu.Close())
	if leaks := gpu.Leaks(); len(leaks) > 0 {
		t.Errorf("out after Close: %q", leaks)
	}
	if after := freeMemory(t); after < before {
		t.Errorf("%d bytes are free, %d were", after, before)
	}
}

func takeOneOfEach(t *testing.T, gpu *cudaimpl.GPU) {
	t.Helper()
	const bytes = 256 * spec.MiB
	_, err := gpu.Malloc(0, bytes)
	must(t, err)
	_, err = gpu.Malloc(0, bytes)
	must(t, err)
	r, err := gpu.ReserveAddress(0, bytes)
	must(t, err)
	page, err := gpu.CreatePage(0, bytes, spec.SharePOSIX)
	must(t, err)
	_, err = gpu.ExportPage(page, spec.SharePOSIX)
	must(t, err)
	must(t, gpu.MapPage(r, bytes, page))
	must(t, gpu.SetAccess(r, bytes, 0))
	_, err = gpu.CreateEvent(0)
	must(t, err)
	s, err := gpu.CreateStream(0)
	must(t, err)
	must(t, gpu.BeginCapture(0, s, spec.CaptureRelaxed))
	must(t, gpu.Fill(0, s, spec.Range{Ptr: r, Bytes: bytes}, 1))
	graph, err := gpu.EndCapture(0, s)
	must(t, err)
	_, err = gpu.Instantiate(graph)
	must(t, err)
	_, err = gpu.Hold(0, s)
	must(t, err)
}

// freeMemory is what the device has free when nothing of this process is on it.
func freeMemory(t *testing.T) uint64 {
	t.Helper()
	gpu := openReal(t).(real).GPU
	free, _, err := gpu.MemInfo(0)
	must(t, errors.Join(err, gpu.Close()))
	return free
}
