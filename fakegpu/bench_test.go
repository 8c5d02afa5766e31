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
