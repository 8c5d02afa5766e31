package replay_test

import (
	"bytes"
	"fmt"
	"testing"

	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// BenchmarkReplay measures operations a second: pairs of malloc and free as a recorder
// writes them with addresses and trace entries, and as somebody writes them by hand.
func BenchmarkReplay(b *testing.B) {
	for _, shape := range []struct{ name, malloc, free string }{
		{"with entries",
			`{"op":"malloc","id":%d,"size":1000,"addr":4294967296,"events":[["alloc",4294967296,1000,0]]}` + "\n",
			`{"op":"free","id":%d,"events":[["free_requested",4294967296,1000,0],["free_completed",4294967296,1000,0]]}` + "\n"},
		{"without", `{"op":"malloc","id":%d,"size":1000}` + "\n", `{"op":"free","id":%d}` + "\n"},
	} {
		b.Run(shape.name, func(b *testing.B) {
			var text bytes.Buffer
			text.WriteString(`{"format":"allocator-trace","version":2,"total_memory":85899345920,"streams":[0]}` + "\n")
			const pairs = 100_000
			text.WriteString(`{"op":"malloc","id":0,"size":1000,"addr":4294967296,"events":[["segment_alloc",4294967296,2097152,0],["alloc",4294967296,1000,0]]}` + "\n")
			fmt.Fprintf(&text, shape.free, 0)
			for id := range pairs {
				fmt.Fprintf(&text, shape.malloc, id+1)
				fmt.Fprintf(&text, shape.free, id+1)
			}
			text.WriteString(`{"end":true}` + "\n")
			b.ResetTimer()
			for range b.N {
				result, err := replay.Reader(bytes.NewReader(text.Bytes()), "trace", replay.Options{New: reference.New})
				if err != nil || !result.Exact {
					b.Fatal(err, result.String())
				}
			}
			b.ReportMetric(float64(2*pairs+2)*float64(b.N)/b.Elapsed().Seconds(), "operations/s")
		})
	}
}
