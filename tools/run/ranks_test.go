package run

import (
	"fmt"
	"strings"
	"testing"
)

// Each rank has its verdict, and of many the least and the most is told.
func TestByRank(t *testing.T) {
	rank := func(n int, peaks ...uint64) Answer {
		a := Answer{Rank: fmt.Sprint(n)}
		for i, p := range peaks {
			a.Devices = append(a.Devices, Device{Device: i, PeakReserved: p})
		}
		return a
	}
	two := Result{Processes: []Answer{rank(0, 1<<30, 2<<30), rank(1, 3<<30), {PID: 5, Devices: []Device{{PeakReserved: 1}}}, rank(2)}}
	two.Processes[1].Uncaught = "torch.OutOfMemoryError"
	if got := two.byRank(); got != "reserved: rank 0 2.00 GiB, rank 1 3.00 GiB (out of memory)" {
		t.Error(got)
	}
	if !strings.Contains(told(two), two.byRank()) {
		t.Error(told(two))
	}
	var many Result
	for i := range 12 {
		many.Processes = append(many.Processes, rank(i, uint64(1+(i+5)%12)<<30))
	}
	if got := many.byRank(); got != "12 ranks reserved from 1024.00 MiB (rank 7) to 12.00 GiB (rank 6)" {
		t.Error(got)
	}
	if got := (&Result{Processes: []Answer{rank(0, 1)}}).byRank(); got != "" {
		t.Error(got)
	}
}
