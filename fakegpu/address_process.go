package fakegpu

import (
	"strings"

	"gaugeblock/spec"
)

// ProcessLike is RealLike with the pieces that the driver and cuBLAS take for themselves in a process of PyTorch,
// in whose holes later pieces lie. An H200 (driver 580, PyTorch 2.11) was asked for pieces of all addresses after
// each step: docs/lab/run.md. Local memory of kernels is made larger at the first kernel, and where it was there is
// a hole of 414 MiB that is filled upwards; everything else goes down.
func ProcessLike(dev spec.Device) AddressPolicy {
	p := &processLike{realLike: newRealLike(uint64(dev) << 48)}
	p.own(4)
	p.own(32)
	p.local = p.own(207)
	return p
}

// launchListener is an address policy that wants to know of kernels.
type launchListener interface{ launched(kernel string) }

type processLike struct {
	*realLike
	local      spec.Ptr // the local memory of kernels
	kernels    bool     // one has been launched
	multiplies bool     // cuBLAS has
}

// own is a new chunk with a piece of the driver's, in steps.
func (p *processLike) own(steps uint64) spec.Ptr {
	c := p.newChunk(roundUp(steps*pieceStep, chunkBytes))
	ptr := c.take(0, steps*pieceStep)
	p.byAge.update(c)
	return ptr
}

func (p *processLike) launched(kernel string) {
	if !p.kernels {
		p.kernels = true
		p.Place(pieceStep) // code
		p.own(269)
		p.Vacate(p.local, 207*pieceStep)
	}
	if !p.multiplies && strings.HasPrefix(kernel, "cublas") {
		p.multiplies = true
		p.Place(pieceStep)
		p.Place(32 * pieceStep)
		p.own(32)
	}
}
