package settings_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// divisions builds a table from runs: how many buckets, and what is in them.
// Buckets beyond the last run are off.
func divisions(runs ...[2]uint64) (d [spec.NumDivisions]uint64) {
	bucket := 0
	for _, run := range runs {
		for range run[0] {
			d[bucket] = run[1]
			bucket++
		}
	}
	return d
}

func TestDivisionsSetting(t *testing.T) {
	for _, test := range []struct {
		value string
		want  [spec.NumDivisions]uint64
	}{
		{"4", divisions([2]uint64{16, 4})},
		{"1", divisions([2]uint64{16, 1})},
		{"9223372036854775808", divisions([2]uint64{16, 1 << 63})},

		{"[]", divisions()},
		{"[256:1,512:2,1024:4,>:8]", divisions([2]uint64{9, 1}, [2]uint64{1, 2}, [2]uint64{1, 4}, [2]uint64{5, 8})},
		{"[ 2 : 4 , 8 : 2 , > : 8 ]", divisions([2]uint64{2, 4}, [2]uint64{1, 0}, [2]uint64{1, 2}, [2]uint64{12, 8})},
		{"[256:1,512:2,>:8,]", divisions([2]uint64{9, 1}, [2]uint64{1, 2}, [2]uint64{6, 8})},

		// '>' begins after the first bucket when none is named, and after the one
		// named last, not the largest.
		{"[>:8]", divisions([2]uint64{1, 0}, [2]uint64{15, 8})},
		{"[1:2,>:8]", divisions([2]uint64{1, 2}, [2]uint64{15, 8})},
		{"[8:2,2:4,>:8]", divisions([2]uint64{1, 2}, [2]uint64{1, 4}, [2]uint64{14, 8})},
		{"[32768:2,>:8]", divisions([2]uint64{16, 2})},
		// What stands later wins, and only the first name fills what is below.
		{"[>:8,4:2]", divisions([2]uint64{3, 2}, [2]uint64{13, 8})},
		{"[4:2,>:8,16:4]", divisions([2]uint64{3, 2}, [2]uint64{1, 8}, [2]uint64{1, 4}, [2]uint64{11, 8})},
		{"[4:2,>:8,>:16]", divisions([2]uint64{3, 2}, [2]uint64{13, 16})},
		{"[4:2,4:8]", divisions([2]uint64{2, 2}, [2]uint64{1, 8})},
		// 0 is off; gaps are off.
		{"[4:0,8:2,32:4]", divisions([2]uint64{3, 0}, [2]uint64{1, 2}, [2]uint64{1, 0}, [2]uint64{1, 4})},
		// Sizes beyond the last bucket are the last bucket.
		{"[1:1,65536:2]", divisions([2]uint64{1, 1}, [2]uint64{14, 0}, [2]uint64{1, 2})},
		{"[9223372036854775808:2]", divisions([2]uint64{16, 2})},
		// The key again reads on top of what stands before it.
		{"8,roundup_power2_divisions:[2:4]", divisions([2]uint64{2, 4}, [2]uint64{14, 8})},
	} {
		c, err := settings.Parse("roundup_power2_divisions:"+test.value, spec.DefaultGeometry())
		if err != nil {
			t.Errorf("%s: %v", test.value, err)
			continue
		}
		if diff := cmp.Diff(test.want, c.Divisions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.value, diff)
		}
	}
}

// TestRestOfOlderReleases: up to 2.9, '>' begins at the bucket named last. What is written is read as the same.
func TestRestOfOlderReleases(t *testing.T) {
	older := settings.Grammar{RestIncludesLast: true}
	for value, want := range map[string][spec.NumDivisions]uint64{
		"[>:8]":                     divisions([2]uint64{16, 8}),
		"[1:2,>:8]":                 divisions([2]uint64{16, 8}),
		"[256:1,512:2,1024:4,>:8]":  divisions([2]uint64{9, 1}, [2]uint64{1, 2}, [2]uint64{6, 8}),
		"[8:2,2:4,>:8]":             divisions([2]uint64{1, 2}, [2]uint64{15, 8}),
		"[32768:2,>:8]":             divisions([2]uint64{15, 2}, [2]uint64{1, 8}),
		"[4:2,>:8,16:4]":            divisions([2]uint64{2, 2}, [2]uint64{2, 8}, [2]uint64{1, 4}, [2]uint64{11, 8}),
		"[256:1,512:2,1024:4,2:16]": divisions([2]uint64{1, 1}, [2]uint64{1, 16}, [2]uint64{7, 1}, [2]uint64{1, 2}, [2]uint64{1, 4}),
	} {
		c, err := older.Parse("roundup_power2_divisions:"+value, spec.DefaultGeometry())
		if err != nil || c.Divisions != want {
			t.Errorf("%s: %v, %v", value, c.Divisions, err)
			continue
		}
		again, err := older.Parse(older.Format(c, spec.DefaultGeometry()), spec.DefaultGeometry())
		if err != nil || again.Divisions != want {
			t.Errorf("%s: %v, %v", older.Format(c, spec.DefaultGeometry()), again.Divisions, err)
		}
	}
}

func TestDivisionsCanonical(t *testing.T) {
	for want, d := range map[string][spec.NumDivisions]uint64{
		"":                      divisions(),
		"4":                     divisions([2]uint64{16, 4}),
		"16":                    divisions([2]uint64{16, 16}),
		"[1:0,>:8]":             divisions([2]uint64{1, 0}, [2]uint64{15, 8}),
		"[16384:0,>:8]":         divisions([2]uint64{15, 0}, [2]uint64{1, 8}),
		"[4:2]":                 divisions([2]uint64{3, 2}),
		"[4:2,8:0,16:4]":        divisions([2]uint64{3, 2}, [2]uint64{1, 0}, [2]uint64{1, 4}),
		"[2:4,4:0,8:2,>:8]":     divisions([2]uint64{2, 4}, [2]uint64{1, 0}, [2]uint64{1, 2}, [2]uint64{12, 8}),
		"[256:1,512:2,>:8]":     divisions([2]uint64{9, 1}, [2]uint64{1, 2}, [2]uint64{6, 8}),
		"[8192:2,16384:4,>:16]": divisions([2]uint64{14, 2}, [2]uint64{1, 4}, [2]uint64{1, 16}),
	} {
		if want != "" {
			want = "roundup_power2_divisions:" + want
		}
		c := spec.DefaultConfig(spec.DefaultGeometry())
		c.Divisions = d
		if got := settings.Format(c, spec.DefaultGeometry()); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

func TestDivisionsFor(t *testing.T) {
	g := spec.DefaultGeometry()
	var c spec.Config
	for i := range c.Divisions {
		c.Divisions[i] = uint64(100 + i) // no number of divisions, but it tells buckets apart
	}
	for _, test := range []struct{ size, want uint64 }{
		{1, 100}, {512, 100}, {mib - 1, 100}, {mib, 100}, {2*mib - 1, 100},
		{2 * mib, 101}, {3 * mib, 101}, {4*mib - 1, 101}, {4 * mib, 102},
		{512*mib - 1, 108}, {512 * mib, 109},
		{32*spec.GiB - 1, 114}, {32 * spec.GiB, 115}, {64 * spec.GiB, 115}, {math.MaxUint64, 115},
	} {
		if got := c.DivisionsFor(test.size, g); got != test.want {
			t.Errorf("a request of %d bytes finds bucket %d, want %d", test.size, got-100, test.want-100)
		}
	}
}

// TestDivisionsForIsTheFloorPowerOfTwo compares with the definition, bucket by
// bucket, on devices of any scale.
func TestDivisionsForIsTheFloorPowerOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := spec.DefaultGeometry()
		g.DivisionsStart = 1 << rapid.IntRange(0, 40).Draw(t, "log2 of the start")
		var c spec.Config
		for i := range c.Divisions {
			c.Divisions[i] = uint64(i)
		}
		size := rapid.Uint64Min(1).Draw(t, "size") >> rapid.IntRange(0, 63).Draw(t, "shift")
		size = max(size, 1)

		want := uint64(0)
		for want < spec.NumDivisions-1 && size >= g.DivisionsStart<<(want+1) {
			want++
		}
		if got := c.DivisionsFor(size, g); got != want {
			t.Fatalf("a request of %d bytes finds bucket %d, want %d", size, got, want)
		}
	})
}
