package fakegpu

import (
	"errors"
	"testing"

	"gaugeblock/spec"
)

// TestUnknownStreams: work for a stream that is not there is refused.
func TestUnknownStreams(t *testing.T) {
	g := New(Config{})
	p, err := g.Malloc(0, 512)
	must(t, err)
	for what, err := range map[string]error{
		"Launch":        g.Launch(spec.Launch{Stream: 99}),
		"CopyOut":       g.CopyOut(0, 99, spec.Range{Ptr: p, Bytes: 8}, func([]byte) {}),
		"EndLifetimeOn": g.EndLifetimeOn(0, 99, p, "free"),
	} {
		refused(t, what, err, "there is no stream")
	}
	failure := errors.New("failure")
	must(t, g.FailCall("SynchronizeDevice", 1, failure))
	if err := g.SynchronizeDevice(0); !errors.Is(err, failure) {
		t.Errorf("SynchronizeDevice: %v", err)
	}
	must(t, g.FailCall("Copy", 1, failure))
	if err := g.CopyOut(0, 0, spec.Range{Ptr: p, Bytes: 8}, func([]byte) {}); !errors.Is(err, failure) {
		t.Errorf("CopyOut: %v", err)
	}
	refused(t, "SynchronizeDevice", g.SynchronizeDevice(9), "device 9")
	_, err = g.ReserveAddress(9, 1)
	refused(t, "ReserveAddress", err, "device 9")
}
