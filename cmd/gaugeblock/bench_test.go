package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gaugeblock/snapshot"
)

// BenchmarkSnapshot times what people wait for, on the largest recorded snapshot: 844,401
// entries. It is in the folder shared beside the project; a smaller one stands in for it.
func BenchmarkSnapshot(b *testing.B) {
	file := "../../../shared/snapshots/long_generate.default.nolimit.pickle.gz"
	if _, err := os.Stat(file); err != nil {
		file = "../../snapshot/tell/testdata/snapshots/gpt_oom7.default.nolimit.pickle.gz"
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			f, err := snapshot.Open(file)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(f.DeviceTraces[0])), "entries")
		}
	})
	page := filepath.Join(b.TempDir(), "page.html")
	for _, c := range [][]string{{"whatif", file}, {"report", "-o", page, file}} {
		b.Run(c[0], func(b *testing.B) {
			for b.Loop() {
				var stderr bytes.Buffer
				if status := run(c, nil, io.Discard, &stderr); status != 0 {
					b.Fatalf("exit status %d: %s", status, &stderr)
				}
			}
		})
	}
}
