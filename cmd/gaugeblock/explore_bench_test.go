package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkExplore measures states in a second of processor time, of the configurations with more
// than 100,000 states, with one worker.
func BenchmarkExplore(b *testing.B) {
	for _, name := range []string{"streams", "oversize", "pools_expandable"} {
		b.Run(name, func(b *testing.B) {
			states := 0
			began := processorTime()
			for range b.N {
				var out strings.Builder
				if status := run([]string{"explore", name, "--compact", "--workers=1"}, os.Stdin, &out, io.Discard); status != statusExact {
					b.Fatalf("status %d:\n%s", status, out.String())
				}
				var n string
				if _, err := fmt.Sscanf(out.String()[strings.Index(out.String(), "ok; ")+4:], "%s", &n); err != nil {
					b.Fatal(err)
				}
				fmt.Sscan(strings.ReplaceAll(n, ",", ""), &states)
			}
			b.ReportMetric(float64(states*b.N)/(processorTime()-began).Seconds(), "states/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
