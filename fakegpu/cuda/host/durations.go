//go:build cgo && linux

package host

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

// A model of durations, for a schedule by time, read off traces of PyTorch 2.11 on H200s (docs/lab/many-gpus.md). The
// host gives a piece of work each 24 to 42 microseconds, Python and all, and each 44 to 56 in programs whose backward pass
// another thread runs, with modules and an optimizer. An allocation of the driver takes 80 to 250
// unless copies from the host are under way. The first kernel of a name waits for its code, 4 to 20 ms, and the first
// matrix product 90 for the library. Of half precision nearly each shape has a kernel of its own, and before it is loaded
// the host waits until the device has nothing to do (18 kernels of 20 shapes). To pin memory takes 0.4 ms a MiB.
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

// fill is what fills are called.
const fill = "fill"

// NCCL's watchdog of PyTorch sleeps for a tenth of a second between two looks at what is complete; the next
// collective lets go of the tensors of what it has seen. It is late by more than that here, since the host's first
// steps take longer than on two H200s. With half a second ZeRO holds a bucket until its third step, as in one of five
// runs there, and so would a DDP that did not in nine.
// If work takes so many times as long that next to none completes before the program waits for it, the watchdog sees
// nothing, and the host waits for no copy to allocate.
const (
	watchdogIsLate = 140 * time.Millisecond
	blind          = 1000
)

// What begins late if there is a seed, as was seen on H200s: now and then a device stops for some tenths of a
// millisecond, and the ranks of FSDP1 wait for each other, 40 ms once in the first step and 5 in some later ones.
const (
	pauses       = 100 // one of so many pieces of work comes after a pause
	longestPause = 500 * time.Microsecond
	rankIsLate   = 2 * time.Millisecond // on average with the seed 1, twice as much with 2
)

// lateness is by how much work begins late, by chance. Equal seeds have equal times.
func lateness(seed, rank uint64) func(name string, n uint64) time.Duration {
	return func(name string, n uint64) time.Duration {
		drawn := rand.New(rand.NewPCG(seed<<32|rank, n))
		if strings.HasPrefix(name, collectives) {
			return time.Duration(drawn.ExpFloat64() * float64(seed) * float64(rankIsLate))
		}
		if drawn.IntN(pauses) != 0 {
			return 0
		}
		return time.Duration(drawn.Int64N(int64(longestPause)))
	}
}

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

// firsts is what the first work of a name takes the host: the code of a kernel, the library of matrix products once, and
// then the code of each product that has another, which waits for the device.
func firsts(host float64, waits bool) func(string, uint64) (time.Duration, bool) {
	products := false
	return func(name string, operations uint64) (time.Duration, bool) {
		takes, product := hostFirst, operations > 0
		switch {
		case name == fakegpu.CopyIn || name == fakegpu.CopyOut || name == fakegpu.CopyOver || name == fill:
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
