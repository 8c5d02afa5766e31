//go:build cgo && linux

package main

import (
	"gaugeblock/cudaimpl"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// gpu is what a side works on: a fake GPU of its own, or the real one.
type gpu interface {
	spec.Driver
	CreateStream(spec.Device) (spec.Stream, error)
}

// openGPU makes a fake GPU, or opens the real one.
func openGPU(real bool) (gpu, error) {
	if real {
		return cudaimpl.Open()
	}
	return newGPU(), nil
}

// newGPU is a fake GPU, of which both sides have one.
func newGPU() *fakegpu.GPU {
	return fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, memory)})
}

// callsOf is how many calls of a fake GPU there have been. Those of a real one are not counted.
func callsOf(g gpu) (n uint64) {
	if fake, ok := g.(*fakegpu.GPU); ok {
		for _, c := range fake.Calls() {
			n += c.Count
		}
	}
	return n
}
