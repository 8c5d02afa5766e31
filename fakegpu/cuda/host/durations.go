//go:build cgo && linux

package host

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

// A model of durations, for a schedule by time, read off traces of PyTorch 2.11 on H200s (docs/lab/many-gpus.md). The
// host gives a piece of work each 24 to 42 microseconds, Python and all, and each 44 to 56 in programs whose backward pass
// another thread runs, with modules and an optimizer. An allocation of the driver takes 80 to 250 unless copies from the
// host are under way. The first kernel of some code waits until it is loaded, with all kernels of its source file, 3 to 24
// ms, and the first matrix product 90 for the library. NCCL loads its code with its communicator. Of half precision shapes
// that are alike have one kernel, and before it is loaded the host waits until the device has nothing to do (15 kernels of
// 20 shapes). To pin memory takes 0.4 ms a MiB.
const (
	hostGives   = 33 * time.Microsecond
	hostTrains  = 50 * time.Microsecond
	hostCalls   = time.Microsecond
	hostMemory  = 120 * time.Microsecond
	hostPage    = 60 * time.Microsecond
	hostFirst   = 12 * time.Millisecond
	hostProduct = 90 * time.Millisecond
	hostLoads   = 300 * time.Microsecond
	hostPins    = 400 * time.Microsecond
	hostWaits   = 2 // copies from the host that are under way when it allocates, or follow at once
)

// What work takes: a start, and what the device moves and computes at a share of its rates. Work that would take less
// than fills at these rates has too few threads to fill the device. What fills it leaves a share to what begins later,
// since some multiprocessors are done with it before others are: beside a matrix product small kernels took ten times as
// long on an H200.
const (
	workStarts = 2 * time.Microsecond
	attained   = 0.7
	fills      = 4 * time.Microsecond
	leaves     = 0.1
)

// hostLink is how much slower bytes go to the host and from it than within a device.
const hostLink = 64

// withoutCode is what is no kernel.
var withoutCode = []string{fakegpu.CopyIn, fakegpu.CopyOut, fakegpu.CopyOver, fill}

// fill is what fills are called.
const fill = "fill"

// If work takes so many times as long that next to none completes before the program waits for it, NCCL's watchdog sees
// nothing, and the host waits for no copy to allocate.
const blind = 1000

// stretch is for how long one of two ranks of FSDP1 was the faster one, on H200s.
const stretch = 20 * time.Millisecond

// durations are those of a GPU whose work takes so many times as long as the model says, and so the host.
func durations(gpu gpus.GPU, slower, host float64, caller func() spec.Thread) fakegpu.Durations {
	if gpu.Name == "" {
		gpu = gpus.All[0]
	}
	perByte, perOperation := 1/(attained*gpu.BytesPerSecond()), 1/(attained*gpu.OperationsPerSecond())
	times := func(factor float64, d time.Duration) time.Duration { return time.Duration(factor * float64(d)) }
	waits, gives := hostWaits, giving()
	if slower >= blind {
		waits = 0
	}
	return fakegpu.Durations{
		Copies: waits,
		Give:   func() time.Duration { return times(host, gives(caller())) },
		Call:   times(host, hostCalls), Memory: times(host, hostMemory), Pin: times(host, hostPins),
		Page:  times(host, hostPage),
		First: firsts(host, slower < blind),
		Link:  hostLink,
		Work: func(moved, operations uint64) (starts, computes time.Duration, share float64) {
			seconds := max(float64(moved)*perByte, float64(operations)*perOperation)
			computes = time.Duration(slower * seconds * float64(time.Second))
			return times(slower, workStarts), computes, min(1-leaves, seconds/fills.Seconds())
		},
		On: func(name string) fakegpu.Engine {
			switch {
			case name == fakegpu.CopyIn:
				return fakegpu.FromHost
			case name == fakegpu.CopyOut:
				return fakegpu.ToHost
			case strings.HasPrefix(name, collectives):
				return fakegpu.Beside
			}
			return fakegpu.Multiprocessors
		},
	}
}

// behind is how other ranks fall behind whose hosts take up to so many times as long as this one, or so much less: it
// changes every stretch by chance, alike for equal seeds. Without a seed they always take as long as they can.
func behind(most float64, seed, rank uint64) func(time.Duration) float64 {
	return func(from time.Duration) float64 {
		if seed == 0 {
			return most - 1
		}
		return (most - 1) * (2*rand.New(rand.NewPCG(seed<<32|rank, uint64(from/stretch))).Float64() - 1)
	}
}

// firsts is what the first work of some code takes the host: the code of a kernel, the library of matrix products once, and
// then the code of each product that has another, which waits for the device.
func firsts(host float64, waits bool) func(string, uint64) (time.Duration, bool) {
	products := false
	return func(name string, operations uint64) (time.Duration, bool) {
		takes, product := hostFirst, operations > 0
		switch {
		case slices.Contains(withoutCode, name) || strings.HasPrefix(name, collectives):
			takes = 0
		case product && products:
			takes = hostLoads
		case product:
			takes, products = hostProduct, true
		}
		return time.Duration(host * float64(takes)), waits && product
	}
}

// giving is how long it takes to give work, for the thread that does so. As soon as a second one has, the program trains.
func giving() func(spec.Thread) time.Duration {
	threads := map[spec.Thread]bool{}
	return func(t spec.Thread) time.Duration {
		threads[t] = true
		if len(threads) > 1 {
			return hostTrains
		}
		return hostGives
	}
}

// factor reads a positive number from a variable; without it it is 1.
func (s *settings) factor(variable string) float64 {
	given := s.get(variable)
	if given == "" {
		return 1
	}
	f, err := strconv.ParseFloat(given, 64)
	if err != nil || !(f > 0 && f < 1e6) {
		s.fail("%s=%s: it is a number above 0", variable, given)
	}
	return f
}
