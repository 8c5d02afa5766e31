package sizes

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestFormat(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0B", 1: "1B", 512: "512B", 1536: "1KiB+512B", 20 << 20: "20MiB", 1<<30 + 2<<20: "1GiB+2MiB",
	} {
		if got := Format(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestParseInvertsFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, 1<<60).Draw(t, "n")
		if got, err := Parse(Format(n)); err != nil || got != n {
			t.Fatalf("%q is read as %d, %v", Format(n), got, err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "5", "MiB", "5MB", "-1B", "5MiB+", "1.5GiB", "99999999999B", "4294967296B"} {
		if n, err := Parse(text); err == nil || n != 0 || err.Error() != strconv.Quote(text)+" is not a size" {
			t.Errorf("%q is read as %d, %v", text, n, err)
		}
	}
	if n, err := Parse("4294967295B"); err != nil || n != 4294967295 {
		t.Errorf("%d, %v", n, err)
	}
}
