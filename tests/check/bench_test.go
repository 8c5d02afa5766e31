package check_test

import (
	"bytes"
	"fmt"
	"testing"

	"gaugeblock/tests/check"
)

// BenchmarkLines measures lines a second over logs of different shapes, each with a
// hundred thousand lines and more.
func BenchmarkLines(b *testing.B) {
	for _, shape := range []struct {
		name string
		line func(w *bytes.Buffer, i int)
	}{
		{"allocate and free", func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,allocate,%#[1]x,1024,0x0\n1,1,free,%#[1]x,1024,0x0\n", 0x7f0000000000+i%100_000*1024)
		}},
		{"all live", func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,allocate,%#x,1024,0x0\n", 0x7f0000000000+i*1024)
		}},
		{"one stream", work(1, 100)},
		{"16 streams", work(16, 100)},
		{"1,000 streams", work(1000, 100)},
		{"60,000 streams read a block", func(w *bytes.Buffer, i int) {
			if i == 0 {
				w.WriteString("1,1,allocate,0x7f0000000000,1024,0x0\n")
			}
			fmt.Fprintf(w, "1,1,read,0x7f0000000000,0,%d\n", i%60_000)
		}},
		{"60,000 streams wait for one, and it for them", func(w *bytes.Buffer, i int) {
			if i == 0 {
				w.WriteString("1,1,allocate,0x7f0000000000,1024,0x0\n")
			}
			fmt.Fprintf(w, "1,1,wait,0,0,%[1]d\n1,1,read,0x7f0000000000,0,%[1]d\n1,1,wait,%[1]d,0,0\n", i%60_000+1)
		}},
		{"16 streams, 10,000 blocks", work(16, 10_000)},
		{"16 streams, 100,000 blocks", work(16, 100_000)},
		{"driver calls", func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,driver allocate,%#x,1024,0x0\n", 0x7f0000000000+i*1024)
		}},
	} {
		b.Run(shape.name, func(b *testing.B) {
			var log bytes.Buffer
			log.WriteString("Thread,Time,Action,Pointer,Size,Stream\n")
			for i := range 100_000 {
				shape.line(&log, i)
			}
			lines := bytes.Count(log.Bytes(), []byte("\n"))
			b.ResetTimer()
			for range b.N {
				if _, err := check.Reader(bytes.NewReader(log.Bytes()), "log", check.Options{Live: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// work is a program that allocates, writes, lets another stream wait and read, and
// frees, over so many streams and blocks.
func work(streams, blocks int) func(w *bytes.Buffer, i int) {
	return func(w *bytes.Buffer, i int) {
		block, round := i%blocks, i/blocks
		address := 0x7f0000000000 + block*1024
		stream, other := i%streams+1, (i*7+3)%streams+1
		if round > 0 {
			fmt.Fprintf(w, "1,1,free,%#x,1024,0\n", address)
			last := i - blocks
			fmt.Fprintf(w, "1,1,wait,%d,0,%d\n1,1,wait,%d,0,%d\n", last%streams+1, stream, (last*7+3)%streams+1, stream)
		}
		fmt.Fprintf(w, "1,1,allocate,%#[1]x,1024,%[2]d\n1,1,write,%#[1]x,0,%[2]d\n1,1,wait,%[2]d,0,%[3]d\n1,1,read,%#[1]x,0,%[3]d\n", address, stream, other)
	}
}
