package upstream

import (
	"math/rand/v2"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// test/test_cuda_multigpu.py: the figures of one device and of two.

// figures are what memoryStats looks at.
type figures struct{ allocated, maxAllocated, reserved, maxReserved int64 }

func (p *program) figures() figures {
	p.t.Helper()
	s := p.stats()
	return figures{
		s["allocated_bytes.all.current"], s["allocated_bytes.all.peak"],
		s["reserved_bytes.all.current"], s["reserved_bytes.all.peak"],
	}
}

// follower compares a device's figures with those it saw last.
type follower struct {
	p    *program
	last figures
}

// changed checks the direction in which the allocated bytes have gone (1, 0, -1),
// and that peaks only rise.
func (f *follower) changed(direction int) {
	f.p.t.Helper()
	now := f.p.figures()
	went := 0
	switch {
	case now.allocated > f.last.allocated:
		went = 1
	case now.allocated < f.last.allocated:
		went = -1
	}
	if went != direction {
		f.p.t.Errorf("the allocated bytes went from %d to %d", f.last.allocated, now.allocated)
	}
	if now.allocated > now.maxAllocated || now.reserved > now.maxReserved ||
		now.maxAllocated < f.last.maxAllocated || now.maxReserved < f.last.maxReserved {
		f.p.t.Errorf("the figures went from %+v to %+v", f.last, now)
	}
	f.last = now
}

// peaksReset starts the peaks anew.
func (f *follower) peaksReset() {
	f.p.t.Helper()
	f.p.must(f.p.allocator.ResetPeakStats(f.p.device))
	want := figures{f.last.allocated, f.last.allocated, f.last.reserved, f.last.reserved}
	if f.last = f.p.figures(); f.last != want {
		f.p.t.Errorf("after the reset %+v, want %+v", f.last, want)
	}
}

// emptied empties the cache: that is one wait for all streams, and less is reserved.
func (f *follower) emptied() {
	f.p.t.Helper()
	waits := f.p.stat("num_sync_all_streams")
	f.p.emptyCache()
	if now := f.p.stat("num_sync_all_streams"); now != waits+1 {
		f.p.t.Errorf("%d waits for all streams became %d", waits, now)
	}
	now := f.p.figures()
	if now.reserved > f.last.reserved || now.maxReserved != f.last.maxReserved {
		f.p.t.Errorf("the figures went from %+v to %+v", f.last, now)
	}
	f.last = now
}

// memoryStats is upstream's generator of that name, as a list of steps: small and
// large tensors of many sizes come and go in some order.
func memoryStats(p *program) (steps []func()) {
	const n = 35
	f := &follower{p: p}
	var first, early int64 // bytes allocated before anything, and with what is kept
	var kept, tensors []tensor
	step := func(direction int, do func()) {
		steps = append(steps, func() { do(); f.changed(direction) })
	}
	alloc := func(list *[]tensor, elements uint64) { *list = append(*list, p.empty(mainStream, floats(elements))) }
	back := func(to int64) {
		p.t.Helper()
		if now := p.figures().allocated; now != to {
			p.t.Errorf("%d bytes are allocated, want %d again", now, to)
		}
	}

	step(0, func() {
		f.last = p.figures()
		first = f.last.allocated
		f.peaksReset()
		f.emptied()
	})
	step(1, func() {
		for _, elements := range []uint64{1, 10 * 20, 200 * 300 * 2000} {
			alloc(&kept, elements)
		}
		early = p.figures().allocated
	})
	for i := uint64(1); i <= n/2; i++ {
		step(1, func() { alloc(&tensors, i*i*4) })
	}
	for i := uint64(5); i < n/2+5; i++ {
		step(1, func() { alloc(&tensors, i*i*7*i*9*i*11) })
		step(0, f.peaksReset)
	}
	step(0, func() { p.empty(mainStream, 0) })
	step(0, func() {
		random := rand.New(rand.NewPCG(1, uint64(p.device)))
		random.Shuffle(len(tensors), func(i, j int) { tensors[i], tensors[j] = tensors[j], tensors[i] })
	})
	for range n / 2 {
		step(-1, func() { p.free(tensors[0]); tensors = tensors[1:] })
	}
	for i := uint64(2); i < 2*n/3+2; i++ {
		step(1, func() { alloc(&tensors, i*i*3*i*8) })
	}
	step(-1, func() { p.free(tensors...); back(early) })
	step(-1, func() { p.free(kept...); back(first) })
	step(0, func() { f.emptied(); f.peaksReset() })
	return steps
}

// Upstream: after each of those steps the figures agree with a snapshot.
func TestCudaMultiGPU_MemoryStats(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		for _, step := range memoryStats(p) {
			step()
			p.check()
		}
	})
}

// Upstream: two devices take such steps in turn, and then in a random order; neither
// notices the other.
func TestCudaMultiGPU_MemoryStatsMultigpu(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	for _, c := range []struct {
		name  string
		turns func() int // of the second device, for one of the first
	}{
		{"in turn", func() int { return 1 }},
		{"in random order", func() int { return random.IntN(3) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram(t, setup{devices: fakegpu.Devices(2, 80*spec.GiB)})
			second := memoryStats(p.on(1))
			turn := func(n int) {
				for _, step := range second[:min(n, len(second))] {
					step()
				}
				second = second[min(n, len(second)):]
				p.check()
			}
			for _, step := range memoryStats(p.on(0)) {
				step()
				turn(c.turns())
			}
			turn(len(second))
		})
	}
}

// btoi is 1 for true.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Upstream: memory that was obtained is missing from what the device has free, on
// any device.
func TestCudaMultiGPU_MemGetInfo(t *testing.T) {
	p := newProgram(t, setup{devices: fakegpu.Devices(2, 80*spec.GiB)})
	for dev := range spec.Device(2) {
		p.emptyCache()
		before, total, err := p.gpu.MemInfo(dev)
		p.must(err)
		p.on(dev).empty(mainStream, 32*spec.MiB)
		after, totalAfter, err := p.gpu.MemInfo(dev)
		p.must(err)
		if after != before-32*spec.MiB || totalAfter != total {
			t.Errorf("device %d: %d of %d bytes are free, before it was %d of %d", dev, after, totalAfter, before, total)
		}
	}
}
