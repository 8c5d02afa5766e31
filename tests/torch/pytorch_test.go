package torch

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"gaugeblock/tests/golden"
	"gaugeblock/tests/replay"
	"gaugeblock/torchimpl"
)

// opened builds and loads PyTorch's allocator, once.
var opened = sync.OnceValue(func() error {
	work := os.Getenv("GAUGEBLOCK_TORCH_WORK")
	if work == "" {
		var err error
		if work, err = os.MkdirTemp("", "gaugeblock-torch-"); err != nil {
			return err
		}
		defer os.RemoveAll(work) // what is loaded stays
	}
	o, err := Beside(work)
	if err != nil {
		return err
	}
	if err := torchimpl.Build(o); err != nil {
		return err
	}
	return torchimpl.Load(o)
})

// open skips the test where PyTorch's allocator cannot be had.
func open(t testing.TB) {
	t.Helper()
	err := opened()
	var unavailable *torchimpl.UnavailableError
	if errors.As(err, &unavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoldenTraces(t *testing.T) {
	open(t)
	files, err := golden.All()
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
