//go:build cgo && linux

package host

import (
	"math"
	"testing"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

// Work is late by chance: kernels seldom and by at most half a millisecond, collectives by some two. Equal seeds and
// ranks have equal times, and others have others.
func TestLateness(t *testing.T) {
	const works = 20000
	late, again := lateness(1, 0), lateness(1, 0)
	others := []func(string, uint64) time.Duration{lateness(2, 0), lateness(1, 1)}
	paused, differ := 0, make([]int, len(others))
	var total time.Duration
	for n := range uint64(works) {
		kernel, rank := late("a", n), late("ncclAllReduce", n)
		if kernel != again("a", n) || kernel < 0 || kernel > longestPause || rank < 0 {
			t.Fatalf("%d: %v, %v", n, kernel, rank)
		}
		if kernel > 0 {
			paused++
		}
		total += rank
		for i, other := range others {
			if other("ncclAllReduce", n) != rank {
				differ[i]++
			}
		}
	}
	if paused < works/pauses/2 || paused > works/pauses*2 {
		t.Errorf("%d of %d pieces of work come after a pause", paused, works)
	}
	if mean := total / works; mean < rankIsLate*9/10 || mean > rankIsLate*11/10 {
		t.Errorf("other ranks are late by %v on average", mean)
	}
	for i, n := range differ {
		if n < works/2 {
			t.Errorf("%d: %d differ", i, n)
		}
	}
}

// A program trains as soon as a second thread has given work. The first kernel of a name waits for its code, and
// copies have none.
func TestHostTakes(t *testing.T) {
	thread := spec.Thread(7)
	d := durations(gpus.All[0], 1, 2, func() spec.Thread { return thread })
	for i, then := range []spec.Thread{7, 7, 8, 7} {
		thread = then
		want := 2 * hostGives
		if i >= 2 {
			want = 2 * hostTrains
		}
		if got := d.Give(); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
	for name, want := range map[string]time.Duration{fakegpu.CopyIn: 0, fakegpu.CopyOut: 0, fakegpu.CopyOver: 0, fill: 0, "a kernel": 2 * hostFirst} {
		if got, waits := d.First(name, 0); got != want || waits {
			t.Errorf("%s: %v, %v", name, got, waits)
		}
	}
	for i, want := range []time.Duration{2 * hostProduct, 2 * hostLoads, 2 * hostLoads} {
		if got, waits := d.First("gemm", 1); got != want || !waits {
			t.Errorf("product %d: %v, %v", i, got, waits)
		}
	}
	if _, waits := durations(gpus.All[0], blind, 1, nil).First("gemm", 1); waits {
		t.Error("the host waits for a device that does nothing")
	}
}

// Small work has a share of the device, and large work leaves some.
func TestWorkTakes(t *testing.T) {
	d := durations(gpus.All[0], 3, 1, nil)
	for _, c := range []struct {
		bytes, operations uint64
		computes          time.Duration
		share             float64
	}{{0, 0, 0, 0}, {1 << 20, 0, 930 * time.Nanosecond, 0.08}, {1 << 30, 0, 950 * time.Microsecond, 1 - leaves}, {0, 1 << 36, 4400 * time.Microsecond, 1 - leaves}} {
		starts, computes, share := d.Work(c.bytes, c.operations)
		if starts != 3*workStarts || computes < c.computes*97/100 || computes > c.computes*103/100 || math.Abs(share-c.share) > 0.01 {
			t.Errorf("%+v: %v, %v, %v", c, starts, computes, share)
		}
	}
	if waits := durations(gpus.All[0], blind, 1, nil).Copies; waits != 0 || d.Copies != hostWaits {
		t.Errorf("an allocation waits for %d copies where nothing is done, and else for %d", waits, d.Copies)
	}
}
