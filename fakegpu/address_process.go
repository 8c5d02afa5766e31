package fakegpu

import (
	"strings"

	"gaugeblock/spec"
)

// ProcessLike is RealLike in a process of PyTorch, where the driver and cuBLAS have pieces of their own. docs/lab/run.md
// has which addresses an H200 gave after each step. Kernels have local memory, for which most need more than there is:
// the first of them gets new one, and where the old one was is a hole of 414 MiB. Later pieces fill it upwards, while new
// chunks go down, so that the order of addresses is another one than without.
func ProcessLike(dev spec.Device) AddressPolicy {
	p := &processLike{realLike: newRealLike(uint64(dev) << 48)}
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

// launchListener is an address policy that wants to know of kernels.
type launchListener interface{ launched(kernel string) }

type processLike struct {
	*realLike
	context *chunk // with the context's local memory
	// a kernel has been launched, one that needs more local memory, and one of cuBLAS
	launches, enlarged, multiplies bool
}

// own makes a chunk that begins with a piece.
func (p *processLike) own(steps uint64) *chunk {
	c := p.newChunk(roundUp(steps*pieceStep, chunkBytes))
	c.take(0, steps*pieceStep)
	p.byAge.update(c)
	return c
}

// launched is called before each kernel. Copies need none.
func (p *processLike) launched(kernel string) {
	if isCopy(kernel) {
		return
	}
	product := strings.HasPrefix(kernel, "cublas")
	if !p.launches {
		p.launches = true
		p.Place(pieceStep) // the kernel's code
	}
	if !p.enlarged && !product && !modest(kernel) {
		p.enlarged = true
		p.own(largerLocalSteps)
		if len(p.context.holes) == 0 { // nothing was seen where otherwise the chunk would be given back
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

// isCopy reports whether work that is launched by this name is a copy.
func isCopy(name string) bool {
	return name == CopyOver || name == CopyIn || name == CopyOut
}

// modest says which kernels, besides products, were seen to need no more local memory: they make random numbers and
// PyTorch's weight norm.
func modest(kernel string) bool {
	return strings.Contains(kernel, "distribution_elementwise_grid_stride_kernel") || strings.Contains(kernel, "weight_norm_fwd")
}
