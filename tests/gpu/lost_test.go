package gpu

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/cudaimpl"
	"gaugeblock/spec"
)

// TestLostContext: work that touches what is not there loses a process's context. The error
// says so, and so does that of every later call. It takes a process of its own.
func TestLostContext(t *testing.T) {
	note(t)
	must(t, openReal(t).close())
	if said := askOther(t, "loser", nil); said.Error != "" {
		t.Error(said.Error)
	}
}

// loseContext is the other process's part. A graph writes to a page that is no longer
// mapped when it is launched.
func loseContext() error {
	gpu, err := cudaimpl.Open()
	if err != nil {
		return err
	}
	defer gpu.Close() // it cannot succeed any more
	const bytes = 2 * spec.MiB
	r, err := gpu.ReserveAddress(0, bytes)
	page, err2 := gpu.CreatePage(0, bytes, spec.SharePOSIX)
	s, err3 := gpu.CreateStream(0)
	if err := errors.Join(err, err2, err3, gpu.MapPage(r, bytes, page), gpu.SetAccess(r, bytes, 0), gpu.BeginCapture(0, s, spec.CaptureRelaxed),
		gpu.Fill(0, s, spec.Range{Ptr: r, Bytes: bytes}, 1)); err != nil {
		return err
	}
	graph, err := gpu.EndCapture(0, s)
	if err != nil {
		return err
	}
	x, err := gpu.Instantiate(graph)
	if err := errors.Join(err, gpu.UnmapPage(r, bytes), gpu.LaunchGraph(x, 0, s)); err != nil {
		return err
	}
	if err := gpu.SynchronizeDevice(0); !errors.Is(err, cudaimpl.ErrContextLost) {
		return fmt.Errorf("work on memory that is not there ends with %v", err)
	}
	if _, err := gpu.Malloc(0, bytes); !errors.Is(err, cudaimpl.ErrContextLost) {
		return fmt.Errorf("afterwards memory is answered with %v", err)
	}
	return nil
}
