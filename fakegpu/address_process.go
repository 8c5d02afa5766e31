package fakegpu

import (
	"strings"

	"gaugeblock/spec"
)

// ProcessLike is RealLike in a process of PyTorch, where the driver and cuBLAS have pieces of their own, and the host
// frees memory that lies above them. docs/lab/run.md has which addresses an H200 gave after each step.
//
// Kernels have local memory, for which most need more than there is: the first of them gets new one, and where the old
// one was is a hole of 414 MiB, or a gap if nothing else is in its chunk. Later pieces fill the hole upwards and the gap
// downwards, while other chunks lie below.
//
// The device's chunks lie in the address space of the host. A program that brings a model to the device frees each of
// its tensors on the host then, and where those were new chunks lie, above all others.
func ProcessLike(dev spec.Device) AddressPolicy {
	p := &processLike{realLike: newRealLike(uint64(dev) << 48), kept: keptSteps * pieceStep}
	p.freed = p.gaps[0].End()
	p.bottom = p.freed - freedWindow
	p.gaps = below(p.bottom)
	p.own(4)
	p.own(32)
	p.context = p.own(localSteps)
	return p
}

// What the driver and cuBLAS take, in steps.
const (
	localSteps       = 207 // local memory of the context
	largerLocalSteps = 269 // that of the first kernel that needs more
	productsSteps    = 32  // what the first product of cuBLAS takes of holes, and of new chunks
)

// Which copies from the host tell that it frees memory, and how much of it stays in use. On H200s the order in which
// chunks lay above and below differed from run to run. With these figures two of three lie on the same side as in 242
// runs (without, 59 %), and peaks are the same with 36 to 48 steps: docs/lab/run.md.
const (
	freedAtLeast = 4 * spec.MiB // smaller tensors have no mapping of their own
	keptSteps    = 36           // what the driver and the program put there first
	freedWindow  = 1 << 40      // address space for what is freed
)

// processListener is an address policy that wants to know what a process does.
type processListener interface {
	launched(kernel string) // before each kernel
	copied(bytes uint64)    // before each copy from the host
}

type processLike struct {
	*realLike
	context *chunk // with the context's local memory
	// a kernel has been launched, one that needs more local memory, and one of cuBLAS
	launches, enlarged, multiplies bool
	freed, bottom                  spec.Ptr // where what the host has freed begins, and may begin
	kept                           uint64   // bytes that are to be freed before there is a gap
}

// own makes a chunk that begins with a piece.
func (p *processLike) own(steps uint64) *chunk {
	c := p.newChunk(roundUp(steps*pieceStep, chunkBytes))
	c.take(0, steps*pieceStep)
	p.byAge.update(c)
	return c
}

func (p *processLike) launched(kernel string) {
	product := strings.HasPrefix(kernel, "cublas")
	if !p.launches {
		p.launches = true
		p.Place(pieceStep) // the kernel's code
	}
	if !p.enlarged && !product && !modest(kernel) {
		p.enlarged = true
		p.own(largerLocalSteps)
		// If nothing else is in its chunk, that is given back. Where no model was freed one H200 had all later chunks
		// below, as if it were not.
		if p.kept == 0 || len(p.context.holes) == 0 {
			p.Vacate(p.context.area.Ptr, localSteps*pieceStep)
		}
	}
	if !p.multiplies && product {
		p.multiplies = true
		p.Place(pieceStep)
		p.Place(productsSteps * pieceStep)
		p.own(productsSteps)
	}
}

// copied makes the gap larger. What is copied after the first kernel is mostly input, whose memory the host uses again.
func (p *processLike) copied(bytes uint64) {
	if p.launches || bytes < freedAtLeast {
		return
	}
	keeps := min(bytes, p.kept)
	p.kept -= keeps
	bytes = min(bytes-keeps, uint64(p.freed-p.bottom))
	if bytes > 0 {
		p.freed -= spec.Ptr(bytes)
		p.gaps = merged(p.gaps, spec.Range{Ptr: p.freed, Bytes: bytes})
	}
}

// modest says which kernels, besides products, were seen to need no more local memory: they make random numbers and
// PyTorch's weight norm.
func modest(kernel string) bool {
	return strings.Contains(kernel, "distribution_elementwise_grid_stride_kernel") || strings.Contains(kernel, "weight_norm_fwd")
}
