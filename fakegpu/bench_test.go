package fakegpu_test

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

func BenchmarkMallocFree(b *testing.B) {
	for _, bench := range []struct {
		name   string
		policy func(spec.Device) fakegpu.AddressPolicy
		live   int
	}{
		{"ascending", fakegpu.Ascending, 0},
		{"ascending, 1000 live", fakegpu.Ascending, 1000},
		{"real", fakegpu.RealLike, 0},
		{"real, 1000 live", fakegpu.RealLike, 1000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g := fakegpu.New(fakegpu.Config{Addresses: bench.policy})
			for range bench.live {
				if _, err := g.Malloc(0, 20*spec.MiB); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p, err := g.Malloc(0, 2*spec.MiB)
				if err != nil {
					b.Fatal(err)
				}
				if err := g.Free(0, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecordQuery(b *testing.B) {
	g := fakegpu.New(fakegpu.Config{})
	s, _ := g.CreateStream(0)
	e, _ := g.CreateEvent(0)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.RecordEvent(e, 0, s); err != nil {
			b.Fatal(err)
		}
		if _, err := g.QueryEvent(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCaptureStatus(b *testing.B) {
	g := fakegpu.New(fakegpu.Config{})
	s, _ := g.CreateStream(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.CaptureStatus(0, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLaunch(b *testing.B) {
	g := fakegpu.New(fakegpu.Config{})
	s, _ := g.CreateStream(0)
	p, _ := g.Malloc(0, spec.GiB)
	l := spec.Launch{Stream: s, Reads: []spec.Range{{Ptr: p, Bytes: 512}}, Writes: []spec.Range{{Ptr: p, Bytes: 4096}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Launch(l); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMapUnmap(b *testing.B) {
	g := fakegpu.New(fakegpu.Config{})
	v, _ := g.ReserveAddress(0, 90*spec.GiB)
	b.ReportAllocs()
	for b.Loop() {
		h, err := g.CreatePage(0, 2*spec.MiB, spec.SharePOSIX)
		if err != nil {
			b.Fatal(err)
		}
		if err := g.MapPage(v, 2*spec.MiB, h); err != nil {
			b.Fatal(err)
		}
		if err := g.SetAccess(v, 2*spec.MiB, 0); err != nil {
			b.Fatal(err)
		}
		if err := g.UnmapPage(v, 2*spec.MiB); err != nil {
			b.Fatal(err)
		}
		if err := g.ReleasePage(h); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunchWatched is a launch that is checked, with 1,000 ranges allocated and
// each in use by the streams: a kernel reads one range and writes another.
func BenchmarkLaunchWatched(b *testing.B) {
	for _, bench := range []struct {
		name    string
		streams int
		ordered bool // each launch is behind all that was launched before
	}{
		{"one stream", 1, true},
		{"4 streams in order", 4, true},
		{"4 streams without order", 4, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			const live, bytes = 1000, 4096
			g := fakegpu.New(fakegpu.Config{})
			p, _ := g.Malloc(0, live*bytes)
			var ranges []spec.Range
			for i := range live {
				ranges = append(ranges, spec.Range{Ptr: p + spec.Ptr(i*bytes), Bytes: bytes})
				g.BeginLifetime(fakegpu.Lifetime{Range: ranges[i]})
			}
			var streams []spec.Stream
			for range bench.streams {
				s, _ := g.CreateStream(0)
				streams = append(streams, s)
			}
			e, _ := g.CreateEvent(0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := streams[i%len(streams)]
				if bench.ordered && len(streams) > 1 {
					_ = g.WaitEvent(0, s, e)
				}
				read := i % live
				if err := g.Launch(spec.Launch{
					Stream: s, Reads: ranges[read : read+1], Writes: ranges[live-1-read : live-read],
				}); err != nil {
					b.Fatal(err)
				}
				if bench.ordered && len(streams) > 1 {
					_ = g.RecordEvent(e, 0, s)
				}
			}
			if n := len(g.Hazards()); n > 0 {
				b.Fatalf("%d hazards", n)
			}
		})
	}
}

// BenchmarkGiveTake is a lifetime, with a thousand others and one kernel in it.
func BenchmarkGiveTake(b *testing.B) {
	const live, bytes = 1000, 4096
	g := fakegpu.New(fakegpu.Config{})
	p, _ := g.Malloc(0, live*bytes)
	s, _ := g.CreateStream(0)
	lifetime := func(i int) fakegpu.Lifetime {
		return fakegpu.Lifetime{Range: spec.Range{Ptr: p + spec.Ptr(i*bytes), Bytes: bytes}, Stream: s}
	}
	for i := range live {
		g.BeginLifetime(lifetime(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l := lifetime(i % live)
		g.EndLifetime(l.Range.Ptr)
		g.BeginLifetime(l)
		if err := g.Launch(spec.Launch{Stream: s, Writes: []spec.Range{l.Range}}); err != nil {
			b.Fatal(err)
		}
	}
}
