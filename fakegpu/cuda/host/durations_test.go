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

// A program trains as soon as a second thread has given work. The first kernel waits for its code; copies
// have none, and NCCL has its own.
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
	for name, want := range map[string]time.Duration{fakegpu.CopyIn: 0, fakegpu.CopyOut: 0, fakegpu.CopyOver: 0, fill: 0, "ncclAllReduce": 0, "a kernel": 2 * hostFirst} {
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

// Other ranks fall behind always as much, or by a seed now and then and catch up as often; equal seeds and ranks are alike.
func TestBehind(t *testing.T) {
	const most, stretches = 1.5, 1000
	always, seeded, again, other, elsewhere := behind(most, 0, 0), behind(most, 1, 0), behind(most, 1, 0), behind(most, 2, 0), behind(most, 1, 1)
	sum, alike := 0.0, 0
	for n := range time.Duration(stretches) {
		from := n * stretch
		x := seeded(from)
		if always(from) != most-1 || x != again(from) || x != seeded(from+stretch-1) || math.Abs(x) > most-1 {
			t.Fatalf("from %v: %v", from, x)
		}
		if x == other(from) || x == elsewhere(from) || x == seeded(from+stretch) {
			alike++
		}
		sum += x
	}
	if alike > 0 || math.Abs(sum/stretches) > 0.05 {
		t.Errorf("%d alike, %v on average", alike, sum/stretches)
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
