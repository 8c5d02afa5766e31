package gpu

import (
	"path/filepath"
	"testing"

	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// TestRecorded replays what was recorded on a real GPU (testdata/recorded): what PyTorch's
// allocator did, and what the reference did there, it does here.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.jsonl.gz")
	must(t, err)
	if len(files) == 0 {
		note(t)
		t.Skip("testdata/recorded is not beside the test binary")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			note(t)
			result, err := replay.File(file, replay.Options{New: reference.New})
			must(t, err)
			if !result.Exact || result.Compared < 1000 {
				t.Error(&result)
			}
		})
	}
}
