package bench

import (
	"fmt"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/churn"
	"gaugeblock/spec"
)

const device0 = spec.Device(0)

// newAllocator is the reference on a fake device of the size of an H100.
func newAllocator(b *testing.B, settings string) (*alloc.Allocator, *fakegpu.GPU) {
	b.Helper()
	gpu := fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{TotalMemory: 80 * spec.GiB}}})
	a, err := alloc.New(gpu, alloc.Options{Settings: settings})
	if err != nil {
		b.Fatal(err)
	}
	return a, gpu
}

// BenchmarkPair is malloc and free of one size.
func BenchmarkPair(b *testing.B) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		for _, size := range []uint64{512, 4096, 1 * spec.MiB, 2 * spec.MiB, 32 * spec.MiB} {
			b.Run(fmt.Sprintf("size=%d/%s", size, name(settings)), func(b *testing.B) {
				a, _ := newAllocator(b, settings)
				pair := func() {
					p, err := a.Malloc(spec.Request{Bytes: size})
					if err != nil {
						b.Fatal(err)
					}
					if err := a.Free(p); err != nil {
						b.Fatal(err)
					}
				}
				pair()
				for b.Loop() {
					pair()
				}
			})
		}
	}
}

// BenchmarkChurn frees a random one of n live blocks and allocates another.
func BenchmarkChurn(b *testing.B) {
	for _, test := range []struct {
		smallOnly bool
		n         int
		settings  string
	}{
		{true, 100, ""}, {true, 1000, ""}, {true, 10000, ""}, {true, 100000, ""},
		{false, 100, ""}, {false, 1000, ""}, {false, 10000, ""}, {false, 100000, ""},
		{true, 1000, "expandable_segments:True"}, {true, 10000, "expandable_segments:True"},
	} {
		mix := "mixed"
		if test.smallOnly {
			mix = "small"
		}
		b.Run(fmt.Sprintf("%s/n=%d/%s", mix, test.n, name(test.settings)), func(b *testing.B) {
			a, gpu := newAllocator(b, test.settings)
			w, err := churn.NewWorker(a, newStream(b, gpu), test.n, test.smallOnly, 7000)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.Step(); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Drain(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkThreads is the small churn with 1,000 live blocks for each goroutine, on its own
// stream. ns/op is the time of the slowest goroutine divided by its operations, as for
// PyTorch.
func BenchmarkThreads(b *testing.B) {
	for _, threads := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("goroutines=%d", threads), func(b *testing.B) {
			a, gpu := newAllocator(b, "")
			workers := make([]*churn.Worker, threads)
			for i := range workers {
				w, err := churn.NewWorker(a, newStream(b, gpu), 1000, true, 7000+uint64(i))
				if err != nil {
					b.Fatal(err)
				}
				workers[i] = w
			}
			b.ResetTimer()
			slowest, err := churn.RunAll(workers, b.N)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(slowest.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}

func newStream(b *testing.B, gpu *fakegpu.GPU) spec.Stream {
	b.Helper()
	s, err := gpu.CreateStream(device0)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func name(settings string) string {
	if settings == "" {
		return "default"
	}
	return settings
}
