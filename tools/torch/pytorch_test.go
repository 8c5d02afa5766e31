package torch

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/tools/replay"
	binary "gaugeblock/tools/torch/binary"
)

// build builds what is needed, once, in a directory that TestMain takes away.
var build = sync.OnceValues(func() (binary.Options, error) {
	o, err := ForTests(filepath.Join(scratch, "torch"))
	if err != nil {
		return o, err
	}
	return o, binary.Build(o)
})

// built skips the test where PyTorch's allocator cannot be had.
func built(t testing.TB) binary.Options {
	t.Helper()
	o, err := build()
	needs(t, err)
	return o
}

// forReleases skips the test if PyTorch is none of the releases from one until another, which it
// is about.
func forReleases(t testing.TB, from, until string) {
	t.Helper()
	if name := built(t).Release().Name; !within(name, from, until) {
		t.Skipf("it is not about PyTorch %s", name)
	}
}

// open loads it into this process.
func open(t testing.TB) {
	t.Helper()
	needs(t, binary.Load(built(t)))
}

func needs(t testing.TB, err error) {
	t.Helper()
	var unavailable *binary.UnavailableError
	if errors.As(err, &unavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestArena: this process has the addresses of PyTorch's objects, although nothing is loaded yet.
// If they were taken only then, Go's heap would be there once in some thousand processes, whose
// loading would end them.
func TestArena(t *testing.T) {
	built(t)
	if !binary.HasArena() {
		t.Error("it has not")
	}
}

func TestGoldenTraces(t *testing.T) {
	forReleases(t, "2.11", "2.11") // by which they are recorded
	open(t)
	files, err := checkout.AllTraces()
	if err != nil {
		t.Fatal(err)
	}
	var tally replay.Tally
	for _, name := range slices.Sorted(maps.Keys(files)) {
		result, err := replay.File(files[name], replay.Options{New: New})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tally.Add(&result)
		if !result.Exact {
			t.Error(result.String())
		}
	}
	t.Log(tally)
}
