package graphtree

import (
	"path/filepath"
	"testing"

	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// TestGolden replays every recording.
func TestGolden(t *testing.T) {
	files, err := replay.FindTraces([]string{"testdata"})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			result, err := replay.File(file, replay.Options{New: reference.New})
			if err != nil {
				t.Fatal(err)
			}
			if !result.Exact {
				t.Error(&result)
			}
		})
	}
}
