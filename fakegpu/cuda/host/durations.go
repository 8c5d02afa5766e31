//go:build cgo && linux

package host

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
)

// A model of durations, for a schedule by time. What the host takes was first read off the times of a
// memory history of PyTorch 2.11 on a machine with H200s: about 10 microseconds between kernels, 200 to
// 600 around an allocation of the driver, some milliseconds before the first kernel of a name. Then it was
// fitted to the peaks of programs with two streams and on two GPUs (docs/lab/run.md), which therefore
// are no test of it.
const (
	hostGives  = 25 * time.Microsecond
	hostCalls  = time.Microsecond
	hostMemory = 600 * time.Microsecond
	hostFirst  = 8 * time.Millisecond
)

// What work takes: a start, and what the device moves and computes at a share of its rates.
const (
	workStarts = 3 * time.Microsecond
	attained   = 0.7
)

// hostLink is how much slower bytes go to the host and from it than within a device.
const hostLink = 64

// NCCL's watchdog of PyTorch sleeps for a tenth of a second between two looks at what is complete; the next
// collective lets go of the tensors of what it has seen. It is late by more than that here, since the host's first
// steps take longer than on two H200s. With half a second ZeRO holds a bucket until its third step, as in one of five
// runs there, and so would a DDP that did not in nine.
// If work takes so many times as long that next to none completes before the program waits for it, the watchdog sees
// nothing.
const (
	watchdogIsLate = 140 * time.Millisecond
	watchdogBlind  = 1000
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

// durations are those of a GPU whose work takes so many times as long as the model says.
func durations(gpu gpus.GPU, slower float64) fakegpu.Durations {
	if gpu.Name == "" {
		gpu = gpus.All[0]
	}
	perByte, perOperation := 1/(attained*gpu.BytesPerSecond()), 1/(attained*gpu.OperationsPerSecond())
	return fakegpu.Durations{
		Give: hostGives, Call: hostCalls, Memory: hostMemory, First: hostFirst,
		Work: func(moved, operations uint64) time.Duration {
			seconds := max(float64(moved)*perByte, float64(operations)*perOperation)
			return time.Duration(slower * (float64(workStarts) + seconds*float64(time.Second)))
		},
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
