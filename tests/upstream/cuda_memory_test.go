package upstream

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Class TestCuda of test/test_cuda.py: figures, limits, running out of memory.

// Upstream: one byte of raw memory raises the allocated bytes, and its return
// brings them back.
func TestCuda_MemoryAllocation(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		const allocated = "allocated_bytes.all.current"
		before := p.stat(allocated)
		x := p.empty(mainStream, 1)
		if now := p.stat(allocated); now != before+minBlock {
			t.Errorf("%d bytes are allocated, %d were before the request", now, before)
		}
		p.free(x)
		if now := p.stat(allocated); now != before {
			t.Errorf("%d bytes are allocated, %d were before the request", now, before)
		}
	})
}

// Upstream: a tensor of 1 KiB makes 1 KiB active, and when it is gone 1 KiB has
// been freed; peaks that are reset are what is there now.
func TestCuda_MemoryStats(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		active := func(current, freed int64) {
			t.Helper()
			stats := p.stats()
			if stats["active_bytes.all.current"] != current || stats["active_bytes.all.freed"] != freed {
				t.Errorf("%d bytes are active and %d were freed, want %d and %d",
					stats["active_bytes.all.current"], stats["active_bytes.all.freed"], current, freed)
			}
		}
		peaksAreCurrent := func() {
			t.Helper()
			p.must(p.allocator.ResetPeakStats(p.device))
			stats := p.stats()
			for _, figure := range []string{"allocated_bytes.all", "reserved_bytes.all"} {
				if stats[figure+".peak"] != stats[figure+".current"] {
					t.Errorf("%s: peak %d, current %d", figure, stats[figure+".peak"], stats[figure+".current"])
				}
			}
		}
		p.free(p.empty(mainStream, 30*spec.MiB)) // a past
		p.emptyCache()
		p.must(p.allocator.ResetAccumulatedStats(p.device))
		peaksAreCurrent()

		x := p.empty(mainStream, floats(256))
		active(1024, 0)
		p.free(x)
		p.emptyCache()
		active(0, 1024)
		peaksAreCurrent()
	})
}

// Upstream: a request for far more than the device has fails with a message that
// says how much was wanted of what there is, one for more than an exabyte with a
// message of its own, and neither disturbs the work that follows.
func TestCuda_OutOfMemory(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		x := p.full(mainStream, floats(1024), 0)
		message := p.outOfMemory(mainStream, 800000000*spec.GiB).Error()
		if want := "tried to allocate 800000000.00 GiB on device 0, which has a total capacity of 80.00 GiB"; !strings.Contains(message, want) {
			t.Errorf("%q, want %q", message, want)
		}
		message = p.outOfMemory(mainStream, 8000000000*spec.GiB).Error()
		if want := "more than any device has"; !strings.Contains(message, want) {
			t.Errorf("%q, want %q", message, want)
		}
		p.fill(mainStream, x, 1)
		p.holds(x, 1)
	})
}

// Upstream: two halves of the device do not fit, since a little of it is taken by
// others. When the first is freed the second is served at once.
func TestCuda_OutOfMemoryRetry(t *testing.T) {
	const total = 80 * spec.GiB
	plainAndExpandable(t, func(t *testing.T, p *program) {
		p.gpu.SetFreeMemory(p.device, total-500*spec.MiB) // the CUDA context
		a := p.empty(mainStream, total/2)
		p.outOfMemory(mainStream, total/2)
		if retries := p.stat("num_alloc_retries"); retries != 1 {
			t.Errorf("%d retries", retries)
		}
		p.free(a)
		p.free(p.empty(mainStream, total/2))
	})
}

// Upstream: a fraction outside 0 to 1 is refused. With a limit of a half, a bit
// less than half the device can be had and half of it, on top of a small tensor,
// cannot; the program goes on.
func TestCuda_SetPerProcessMemoryFraction(t *testing.T) {
	const total = 80 * spec.GiB
	plainAndExpandable(t, func(t *testing.T, p *program) {
		for _, fraction := range []float64{-0.1, 2.0} {
			var refused *spec.InvalidArgumentError
			if err := p.allocator.SetMemoryFraction(p.device, fraction); !errors.As(err, &refused) {
				t.Errorf("a fraction of %v: %v", fraction, err)
			}
		}
		x := p.full(mainStream, floats(1024), 0)
		p.emptyCache()
		p.must(p.allocator.SetMemoryFraction(p.device, 0.5))

		p.free(p.empty(mainStream, total*499/1000-uint64(p.stat("reserved_bytes.all.peak"))))
		p.emptyCache()
		oom := p.outOfMemory(mainStream, total/2)
		if !oom.Limited || oom.Limit != total/2 {
			t.Errorf("the error speaks of a limit of %d bytes (%t)", oom.Limit, oom.Limited)
		}
		p.fill(mainStream, x, 1)
		p.holds(x, 1)
	})
}

// Upstream: the fraction that was set is the fraction that is got. (It is kept as
// whole bytes.)
func TestCuda_GetPerProcessMemoryFraction(t *testing.T) {
	const total = float64(80 * spec.GiB)
	p := newProgram(t, setup{})
	for _, fraction := range []float64{1, 0, 0.4963, 0.7682, 0.0885} {
		p.must(p.allocator.SetMemoryFraction(p.device, fraction))
		got, err := p.allocator.MemoryFraction(p.device)
		p.must(err)
		if math.Abs(got-fraction) > 1/total {
			t.Errorf("%v was set, %v is got", fraction, got)
		}
	}
}

// Upstream: memory that another stream still uses when it is freed must be found
// when nothing else is left, instead of an error. (100 tensors of 160 MiB are freed
// while a side stream is to add them up.)
func TestCuda_CachingAllocatorRecordStreamOom(t *testing.T) {
	p := newProgram(t, setup{devices: fakegpu.Devices(1, 2*spec.GiB), waits: fakegpu.WaitsDrain})
	const bytes = 160 * spec.MiB
	side := p.newStream()
	y := p.full(side, bytes, 0)
	for range 100 {
		x := p.empty(mainStream, bytes)
		p.busy(side)
		p.kernel(side, y, y, x)
		p.recordStream(x, side)
		p.free(x)
	}
	if stats := p.stats(); stats["num_ooms"] != 0 || stats["num_alloc_retries"] == 0 {
		t.Errorf("%d requests failed, %d were repeated; want none, some", stats["num_ooms"], stats["num_alloc_retries"])
	}
}
