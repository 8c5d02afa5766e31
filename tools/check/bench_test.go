package check_test

import (
	"bytes"
	"fmt"
	"testing"

	"gaugeblock/tools/check"
)

// BenchmarkLines measures lines in a second of processor time, garbage collection included,
// over logs of different shapes, each with a hundred thousand lines and more.
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
		{"driver calls", func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,driver allocate,%#x,1024,0x0\n", 0x7f0000000000+i*1024)
		}},
	} {
		b.Run(shape.name, func(b *testing.B) { measureLines(b, shape.line) })
	}
}

// BenchmarkStreams measures the same over numbers of streams and blocks: each block is
// written in one stream and read in another, which waits for the first, and the next owner's
// stream waits for both. The readers of a stream are always the same one, or all others.
func BenchmarkStreams(b *testing.B) {
	for _, streams := range []int{10, 1000, 60_000} {
		for _, blocks := range []int{1000, 100_000} {
			for _, readers := range []struct {
				name  string
				other func(i int) int
			}{
				{"one reader", func(i int) int { return i*7 + 3 }},
				{"all readers", func(i int) int { return i*7 + i/streams*31 + 3 }},
			} {
				b.Run(fmt.Sprintf("%d streams, %d blocks, %s", streams, blocks, readers.name), func(b *testing.B) {
					measureLines(b, work(streams, blocks, readers.other))
				})
			}
		}
	}
}

func measureLines(b *testing.B, line func(w *bytes.Buffer, i int)) {
	var log bytes.Buffer
	log.WriteString("Thread,Time,Action,Pointer,Size,Stream\n")
	for i := range 200_000 {
		line(&log, i)
	}
	lines := bytes.Count(log.Bytes(), []byte("\n"))
	b.ResetTimer()
	began := processorTime()
	for range b.N {
		result, err := check.Reader(bytes.NewReader(log.Bytes()), "log", check.Options{Live: true})
		if err != nil || result.Count() > 0 {
			b.Fatal(result, err)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/(processorTime()-began).Seconds(), "lines/s")
	b.ReportMetric(0, "ns/op")
}

// work is a program that allocates, writes, lets another stream wait and read, and
// frees, over a number of streams and blocks. Before a block is allocated again, its stream waits
// for both.
func work(streams, blocks int, reader func(i int) int) func(w *bytes.Buffer, i int) {
	return func(w *bytes.Buffer, i int) {
		address := 0x7f0000000000 + i%blocks*1024
		stream, other := i%streams+1, reader(i)%streams+1
		if last := i - blocks; last >= 0 {
			fmt.Fprintf(w, "1,1,free,%#x,1024,0\n", address)
			fmt.Fprintf(w, "1,1,wait,%d,0,%d\n1,1,wait,%d,0,%d\n", last%streams+1, stream, reader(last)%streams+1, stream)
		}
		fmt.Fprintf(w, "1,1,allocate,%#[1]x,1024,%[2]d\n1,1,write,%#[1]x,0,%[2]d\n1,1,wait,%[2]d,0,%[3]d\n1,1,read,%#[1]x,0,%[3]d\n", address, stream, other)
	}
}
