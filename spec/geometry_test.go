package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

func TestDefaultGeometry(t *testing.T) {
	want := spec.Geometry{
		MinBlock:       512,
		SmallSize:      1048576,
		SmallBuffer:    2097152,
		MinLargeAlloc:  10485760,
		LargeBuffer:    20971520,
		RoundLarge:     2097152,
		DivisionsStart: 1048576,
		MaxRequest:     1152921504606846976,
		MiB:            1048576,
	}
	got := spec.DefaultGeometry()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestGeometryValidate changes the default in one place; want is empty where the
// result is sound, just inside what is asked for.
func TestGeometryValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(g *spec.Geometry)
		want   string
	}{
		{"block 1", func(g *spec.Geometry) { g.MinBlock = 1 }, ""},
		{"block 0", func(g *spec.Geometry) { g.MinBlock = 0 }, "geometry: MinBlock 0 is not a power of two"},
		{"block 513", func(g *spec.Geometry) { g.MinBlock = 513 }, "geometry: MinBlock 513 is not a power of two"},

		{"small size one block", func(g *spec.Geometry) { g.SmallSize = 512 }, ""},
		{"small size 0", func(g *spec.Geometry) { g.SmallSize = 0 }, "geometry: SmallSize 0 is not a positive multiple of MinBlock 512"},
		{"small size 513", func(g *spec.Geometry) { g.SmallSize = 513 }, "geometry: SmallSize 513 is not a positive multiple of MinBlock 512"},

		{"small buffer one small size", func(g *spec.Geometry) { g.SmallBuffer = g.SmallSize }, ""},
		{"small buffer too small", func(g *spec.Geometry) { g.SmallBuffer = g.SmallSize - 512 }, "geometry: SmallBuffer 1048064 cannot hold SmallSize 1048576 in whole blocks"},
		{"small buffer in part blocks", func(g *spec.Geometry) { g.SmallBuffer = g.SmallSize + 1 }, "geometry: SmallBuffer 1048577 cannot hold SmallSize 1048576 in whole blocks"},

		{"large from the next byte", func(g *spec.Geometry) { g.MinLargeAlloc = g.SmallSize + 1 }, ""},
		{"large from the small size", func(g *spec.Geometry) { g.MinLargeAlloc = g.SmallSize }, "geometry: MinLargeAlloc 1048576 is not above SmallSize 1048576"},

		{"large buffer just enough", func(g *spec.Geometry) { g.LargeBuffer = g.MinLargeAlloc }, ""},
		{"large buffer too small", func(g *spec.Geometry) { g.LargeBuffer = g.MinLargeAlloc - 512 }, "geometry: LargeBuffer 10485248 cannot hold requests below MinLargeAlloc 10485760 in whole blocks"},
		{"large buffer in part blocks", func(g *spec.Geometry) { g.LargeBuffer = g.MinLargeAlloc + 1 }, "geometry: LargeBuffer 10485761 cannot hold requests below MinLargeAlloc 10485760 in whole blocks"},

		{"round to one block", func(g *spec.Geometry) { g.RoundLarge = 512 }, ""},
		{"round to 0", func(g *spec.Geometry) { g.RoundLarge = 0 }, "geometry: RoundLarge 0 is not a positive multiple of MinBlock 512"},
		{"round to 513", func(g *spec.Geometry) { g.RoundLarge = 513 }, "geometry: RoundLarge 513 is not a positive multiple of MinBlock 512"},

		{"divisions from 1", func(g *spec.Geometry) { g.DivisionsStart = 1 }, ""},
		{"divisions from 3", func(g *spec.Geometry) { g.DivisionsStart = 3 }, "geometry: DivisionsStart 3 is not a power of two"},
		{"no request fits", func(g *spec.Geometry) { g.MaxRequest = 0 }, "geometry: MaxRequest is zero"},
		{"settings count in nothing", func(g *spec.Geometry) { g.MiB = 0 }, "geometry: MiB is zero"},
	} {
		g := spec.DefaultGeometry()
		test.change(&g)
		got := ""
		if err := g.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}
