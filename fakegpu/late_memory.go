package fakegpu

import (
	"strings"

	"gaugeblock/spec"
)

// LateMemory is how many bytes of a device the driver takes for a process only when they are first needed: at a kernel,
// at a product of cuBLAS and at work of cuDNN, and once more for each of the two when there is a second handle of it.
// PyTorch has a handle for each thread, and the backward pass is in a thread of its own.
type LateMemory struct{ Kernel, Product, Plan, SecondProduct, SecondPlan uint64 }

// Library is one of those whose handles take memory of a device.
type Library int

// The libraries.
const (
	CuBLAS Library = iota
	CuDNN
	libraries
)

// lateMemory is what the driver still takes of a device for a process, and how many handles there are of each library.
type lateMemory struct {
	LateMemory
	handles [libraries]int
}

// SetLateMemory sets what the driver takes of a device from now on. It is not a call of the driver. It panics if the
// device does not exist.
func (g *GPU) SetLateMemory(dev spec.Device, m LateMemory) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.devices[dev].late = lateMemory{LateMemory: m}
}

// MakeHandle tells of a handle of a library. It is not a call of the driver. It panics if the device does not exist.
func (g *GPU) MakeHandle(dev spec.Device, of Library) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.devices[dev].late.handles[of]++
}

// SecondHandleIsCounted says that memory for the second handle of cuBLAS is taken already: what was measured of NCCL
// has it in it. It panics if the device does not exist.
func (g *GPU) SecondHandleIsCounted(dev spec.Device) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.devices[dev].late.SecondProduct = 0
}

// takeLate takes what the driver needs for a kernel.
func (v *view) takeLate(kernel string) {
	m := &v.late
	take := taken(&m.Kernel)
	switch {
	case strings.HasPrefix(kernel, "cublas"):
		take += taken(&m.Product)
		if m.handles[CuBLAS] > 1 {
			take += taken(&m.SecondProduct)
		}
	case strings.HasPrefix(kernel, "cudnn"):
		take += taken(&m.Plan)
		if m.handles[CuDNN] > 1 {
			take += taken(&m.SecondPlan)
		}
	}
	v.physical.limit -= min(take, v.physical.free())
}

// taken is what was left to take, of which nothing is left then.
func taken(left *uint64) uint64 {
	bytes := *left
	*left = 0
	return bytes
}
