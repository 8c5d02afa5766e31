package upstream

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestOfVersion(t *testing.T) {
	for _, test := range []struct{ text, release, said string }{
		{"2.11.0+cu130", "2.11", "2.11.0+cu130"},
		{"2.11.0", "2.11", "2.11.0"},
		{"2.13", "2.13", "2.13"},
		{"2.12.0+cu130", "2.12", "2.12.0+cu130, by the rules of 2.12.1, which is what was tried"},
		{"2.15.0a0+git1a2b3c4", "2.15", "2.15.0a0+git1a2b3c4, by the rules of 2.15: nobody tried its libraries"},
		{"2.11.0+rocm7.1", "2.11+rocm", "2.11.0+rocm7.1, by the rules of 2.11+rocm: nobody tried its libraries"},
		{"2.13.0+rocm7.1", "2.13", "2.13.0+rocm7.1"},
		{"2.11+rocm", "2.11+rocm", "2.11+rocm, by the rules of 2.11+rocm: nobody tried its libraries"},
	} {
		v, err := OfVersion(test.text)
		if err != nil || v.Name != test.release || v.String() != test.said {
			t.Errorf("%s: release %q, %q, %v; want %q, %q", test.text, v.Name, v, err, test.release, test.said)
		}
	}
	for text, want := range map[string]string{
		"2.16.0": "PyTorch 2.16.0 is not known here: the releases 2.6 to 2.15 are",
		"2.5.1":  "PyTorch 2.5.1 is not known here: the releases 2.6 to 2.15 are",
		"newest": `"newest" is no version of PyTorch, such as 2.11.0+cu130`,
		"":       `"" is no version of PyTorch, such as 2.11.0+cu130`,
	} {
		if v, err := OfVersion(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, error %v; want %s", text, v, err, want)
		}
	}
}

func TestOfTrace(t *testing.T) {
	for _, test := range []struct {
		release, source, want string
		told                  bool
	}{
		{"2.13", "torch 2.11.0+cu130", "2.13", true},
		{"", "torch 2.11.0+cu130", "2.11", true},
		{"", "PyTorch 2.9.1 on a fake runtime", "2.9", true},
		{"", "gaugeblock torch", "2.11", false},
		{"", "libgaugeblock", "2.11", false},
		{"", "my recorder", "2.15", false},
		{"", "", "2.15", false},
	} {
		v, told, err := OfTrace(test.release, test.source)
		if err != nil || v.Name != test.want || told != test.told {
			t.Errorf("%q, %q: %s, told %v, %v; want %s, %v", test.release, test.source, v.Name, told, err, test.want, test.told)
		}
	}
	if _, _, err := OfTrace("2.30", ""); err == nil {
		t.Error("a release that does not exist is accepted")
	}
}

// TestOfLibrary: each release is told from the one before it by its mark.
func TestOfLibrary(t *testing.T) {
	text := "\x7fELF CUDACachingAllocator"
	for _, r := range Releases() {
		if r.LibraryMark == "" && r.Name != "2.6" {
			continue // a back-port
		}
		text += " " + r.LibraryMark
		if got, err := OfLibrary(strings.NewReader(text)); err != nil || got.Name != r.Name {
			t.Errorf("%s: %s, %v", r.Name, got.Name, err)
		}
	}
	for _, text := range []string{"", "CUDACachingAllocator", "\x7fELF"} {
		if r, err := OfLibrary(strings.NewReader(text)); err == nil {
			t.Errorf("%q is taken for %s", text, r.Name)
		}
	}
	if _, err := OfLibrary(iotest.ErrReader(io.ErrClosedPipe)); err != io.ErrClosedPipe {
		t.Errorf("a library that cannot be read: %v", err)
	}
}

// TestSummaries: a summary is the first sentence, without its full stop.
func TestSummaries(t *testing.T) {
	for text, want := range map[string]string{"One. Two.": "One", "One of 2.11.": "One of 2.11", "One": "One", "": ""} {
		if got := (&Deviation{Upstream: text}).Summary(); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
