package fakegpu

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// TestOwnersOfRanges: a range is visited in stretches, from end to end.
func TestOwnersOfRanges(t *testing.T) {
	d := New(Config{Devices: Devices(1, spec.GiB), Hazards: true})
	type stretch struct {
		from, to spec.Ptr
		number   uint64
	}
	first := d.BeginLifetime(Lifetime{Range: spec.Range{Ptr: 0x1000, Bytes: 0x100}})
	second := d.BeginLifetime(Lifetime{Range: spec.Range{Ptr: 0x1200, Bytes: 0x100}})
	// with nothing between them
	third := d.BeginLifetime(Lifetime{Range: spec.Range{Ptr: 0x1300, Bytes: 0x100}})
	for _, test := range []struct {
		from, to spec.Ptr
		want     []stretch
	}{
		{0x1280, 0x1380, []stretch{{0x1280, 0x1300, second}, {0x1300, 0x1380, third}}},
		{0x1000, 0x1100, []stretch{{0x1000, 0x1100, first}}},
		{0x1040, 0x1080, []stretch{{0x1040, 0x1080, first}}},
		{0xf00, 0x1400, []stretch{{0xf00, 0x1000, 0}, {0x1000, 0x1100, first}, {0x1100, 0x1200, 0}, {0x1200, 0x1300, second}, {0x1300, 0x1400, third}}},
		{0x1080, 0x1280, []stretch{{0x1080, 0x1100, first}, {0x1100, 0x1200, 0}, {0x1200, 0x1280, second}}},
		{0x1100, 0x1200, []stretch{{0x1100, 0x1200, 0}}},
	} {
		var got []stretch
		d.detect().owners.each(spec.Range{Ptr: test.from, Bytes: uint64(test.to - test.from)}, func(r spec.Range, l *Lifetime) {
			s := stretch{r.Ptr, r.End(), 0}
			if l != nil {
				s.number = l.Number
			}
			got = append(got, s)
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("%v to %v: %v, want %v", test.from, test.to, got, test.want)
		}
	}
}

// TestNoDetector: what is said of lifetimes where hazards are not looked for has no effect.
func TestNoDetector(t *testing.T) {
	g := New(Config{})
	g.RecordUse(0x1000, 0, 0)
	g.EndLifetime(0x1000)()
	if err := g.EndLifetimeOn(0, 0, 0x1000, "free"); err != nil || len(g.Hazards()) > 0 {
		t.Errorf("%v, %v", err, g.Hazards())
	}
}
