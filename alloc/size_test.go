package alloc

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

const kib, mib, gib = spec.KiB, spec.MiB, spec.GiB

// TestRoundSize: what a request is rounded to, without and with divisions.
func TestRoundSize(t *testing.T) {
	for _, test := range []struct {
		text  string
		bytes uint64
		want  uint64
	}{
		{"", 1, 512},
		{"", 511, 512},
		{"", 512, 512},
		{"", 513, 1024},
		{"", 1*mib - 1, 1 * mib},
		{"", 1*mib + 1, 1*mib + 512},
		{"", 10*mib - 511, 10 * mib},

		{"roundup_power2_divisions:4", 2048, 2048}, // not above 512 * 4
		{"roundup_power2_divisions:4", 2049, 2560},
		{"roundup_power2_divisions:4", 3 * kib, 3 * kib},
		{"roundup_power2_divisions:4", 3*kib + 1, 3*kib + 512},
		{"roundup_power2_divisions:4", 4096, 4096}, // a power of two stays
		{"roundup_power2_divisions:4", 1200 * kib, 1280 * kib},
		{"roundup_power2_divisions:4", 1*gib + 1, 1280 * mib},
		{"roundup_power2_divisions:1", 1200*kib + 1, 1200*kib + 512},
		{"roundup_power2_divisions:16", 8 * kib, 8 * kib},
		{"roundup_power2_divisions:16", 8*kib + 1, 8*kib + 512},

		{"roundup_power2_divisions:[1:1,2:2,4:4,>:8]", 100 * kib, 100 * kib},
		{"roundup_power2_divisions:[1:1,2:2,4:4,>:8]", 2*mib + 1, 3 * mib},
		{"roundup_power2_divisions:[1:1,2:2,4:4,>:8]", 4*mib + 1, 5 * mib},
		{"roundup_power2_divisions:[1:1,2:2,4:4,>:8]", 8*mib + 1, 9 * mib},
		{"roundup_power2_divisions:[4:2,16:4]", 700 * kib, 768 * kib}, // the first fills what is below it
		{"roundup_power2_divisions:[4:2,16:4]", 9 * mib, 9 * mib},     // a gap stays off
		{"roundup_power2_divisions:[>:2]", 1*mib + 1, 1*mib + 512},    // > leaves the first bucket alone
		{"roundup_power2_divisions:[>:2]", 2*mib + 1, 3 * mib},
	} {
		g := spec.DefaultGeometry()
		cfg, err := settings.Parse(test.text, g)
		if err != nil {
			t.Fatal(err)
		}
		if got := roundSize(test.bytes, &cfg, &g); got != test.want {
			t.Errorf("%q: %d bytes are rounded to %d, want %d", test.text, test.bytes, got, test.want)
		}
	}
}

// TestRoundToDivision has the cases that only a small geometry can reach.
func TestRoundToDivision(t *testing.T) {
	for _, test := range []struct{ size, divisions, want uint64 }{
		{1200, 4, 1280},
		{1024, 4, 1024},
		{5, 8, 8}, // a step of less than a byte
		{5, 4, 5},
		{7, 2, 8},
		{4, 8, 4}, // a power of two, and a step of less than a byte
	} {
		if got := roundupPower2NextDivision(test.size, test.divisions); got != test.want {
			t.Errorf("%d in %d divisions: got %d, want %d", test.size, test.divisions, got, test.want)
		}
	}
}

// TestSegmentSize: the size of a new segment.
func TestSegmentSize(t *testing.T) {
	for _, test := range []struct {
		text string
		size uint64
		want uint64
	}{
		{"", 512, 2 * mib},
		{"", 1 * mib, 2 * mib},
		{"", 1*mib + 512, 20 * mib},
		{"", 10*mib - 512, 20 * mib},
		{"", 10 * mib, 10 * mib},
		{"", 10*mib + 512, 12 * mib},
		{"", 21 * mib, 22 * mib},
		{"large_segment_size_mb:64", 1*mib + 512, 64 * mib},
		{"large_segment_size_mb:64", 10 * mib, 10 * mib},
		{"large_segment_size_mb:64", 1 * mib, 2 * mib},
	} {
		g := spec.DefaultGeometry()
		cfg, err := settings.Parse(test.text, g)
		if err != nil {
			t.Fatal(err)
		}
		if got := segmentSize(test.size, &cfg, &g); got != test.want {
			t.Errorf("%q: a block of %d needs a segment of %d, want %d", test.text, test.size, got, test.want)
		}
	}
}

// TestSizesFit: with all settings, a rounded size is not below the request, is not
// changed by rounding again, and fits its segment in whole blocks.
func TestSizesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := spec.DefaultGeometry()
		cfg := spec.DefaultConfig(g)
		for i := range cfg.Divisions {
			cfg.Divisions[i] = rapid.SampledFrom([]uint64{0, 1, 2, 4, 8, 16, 64, 1024}).Draw(t, "divisions")
		}
		cfg.LargeSegmentSize = rapid.SampledFrom([]uint64{11 * mib, 20 * mib, 64 * mib}).Draw(t, "large segment")
		power := uint64(1) << rapid.IntRange(0, 40).Draw(t, "power")
		bytes := max(1, power+rapid.Uint64Range(0, power).Draw(t, "more"))

		size := roundSize(bytes, &cfg, &g)
		if size < bytes || size%g.MinBlock != 0 {
			t.Fatalf("%d bytes are rounded to %d", bytes, size)
		}
		if again := roundSize(size, &cfg, &g); again != size && size != power*2 {
			t.Fatalf("%d bytes are rounded to %d, and that to %d", bytes, size, again)
		}
		if segment := segmentSize(size, &cfg, &g); segment < size || segment%g.MinBlock != 0 {
			t.Fatalf("a block of %d gets a segment of %d", size, segment)
		}
	})
}
