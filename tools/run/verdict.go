package run

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

func size(bytes uint64) string { return spec.FormatSize(bytes) }

// Tell writes the result in three lines: the peaks, whether and where memory ran out, and what
// to try.
func (r *Result) Tell(w io.Writer) {
	process, device := r.Worst()
	if device == nil {
		fmt.Fprintln(w, "gaugeblock: no process of the command allocated memory of a GPU through PyTorch, or none could end with an answer")
		return
	}
	fmt.Fprintf(w, "gaugeblock: peak reserved %s, allocated %s, on %s (%s)%s%s\n", size(device.PeakReserved), size(device.PeakAllocated),
		r.GPU, size(r.Memory), r.others(process), r.soFar())
	fmt.Fprintf(w, "gaugeblock: %s\n", r.memoryLine(device))
	fmt.Fprintf(w, "gaugeblock: %s\n", r.advice(device))
	for _, line := range process.unknown() {
		fmt.Fprintf(w, "gaugeblock: %s\n", line)
	}
}

// mostNamed is how many decisions are named.
const mostNamed = 3

// unknown says which decisions rest on values that only a GPU would have computed.
func (a *Answer) unknown() (lines []string) {
	if a.NoValues != "" {
		lines = append(lines, a.NoValues)
	}
	all := 0
	for _, n := range a.Decisions {
		all += n
	}
	if all == 0 {
		return lines
	}
	named := slices.SortedFunc(maps.Keys(a.Decisions), func(x, y string) int {
		return cmp.Or(a.Decisions[y]-a.Decisions[x], strings.Compare(x, y))
	})
	text := fmt.Sprintf("%s on unknown values, so that sizes may differ on a GPU: %s", restOn(all), strings.Join(named[:min(mostNamed, len(named))], ", "))
	if len(named) > mostNamed {
		text += fmt.Sprintf(", and %d other lines", len(named)-mostNamed)
	}
	return append(lines, text)
}

func restOn(decisions int) string {
	if decisions == 1 {
		return "1 decision rests"
	}
	return fmt.Sprintf("%d decisions rest", decisions)
}

// others says whose the peak is if there were several processes.
func (r *Result) others(worst *Answer) string {
	if len(r.Processes) < 2 {
		return ""
	}
	if worst.Rank != "" {
		return fmt.Sprintf(", rank %s of %d processes", worst.Rank, len(r.Processes))
	}
	return fmt.Sprintf(", process %d of %d", worst.PID, len(r.Processes))
}

func (r *Result) soFar() string {
	if r.Interrupted {
		return ", until it was interrupted"
	}
	return ""
}

// memoryLine says whether and where memory ran out: what was asked for, what was free, and why.
func (r *Result) memoryLine(device *Device) string {
	f, ended := r.Failure()
	if f == nil {
		if device.Retries > 0 {
			return fmt.Sprintf("it did not run out of memory, but freed all unused segments %d times to go on", device.Retries)
		}
		return "it did not run out of memory"
	}
	what := "ran out of memory"
	if !ended {
		what = "a request failed for want of memory, and the program went on"
	}
	at := ""
	if f.At != "" {
		at = " at " + f.At
	}
	return fmt.Sprintf("%s%s (step %d): asked for %s, %s", what, at, f.Step, size(f.Asked), f.why())
}

// idle is what was reserved and not allocated, and free what the GPU still had for the program.
func (f *OutOfMemory) idle() uint64 { return f.Reserved - min(f.Allocated, f.Reserved) }
func (f *OutOfMemory) free() uint64 { return min(f.Free, f.Limit-min(f.Reserved, f.Limit)) }

// inPieces: there was enough memory, but not in one piece.
func (f *OutOfMemory) inPieces() bool { return f.idle()+f.free() >= f.Asked }

// why says what stood in the way of a request.
func (f *OutOfMemory) why() string {
	text := fmt.Sprintf("with %s free on the GPU, %s allocated, and %s reserved but unused", size(f.free()), size(f.Allocated), size(f.idle()))
	if f.inPieces() {
		return text + ": enough, but in pieces"
	}
	return text + ": less than it asked for"
}

// advice says what to try.
func (r *Result) advice(device *Device) string {
	f, _ := r.Failure()
	if f == nil {
		if smaller, found := r.smallest(device.PeakReserved); found {
			return fmt.Sprintf("the smallest GPU of the table with that much memory is %s (%s): --gpu %s tries it", smaller.Word, size(smaller.Memory), smaller.Word)
		}
		return "no smaller GPU of the table has that much memory"
	}
	if f.inPieces() {
		return "try --settings expandable_segments:True, which joins free pieces"
	}
	text := fmt.Sprintf("try smaller batches, or activation checkpointing: at least %s must go", size(f.Asked-f.idle()-f.free()))
	if larger, found := larger(r.Memory); found {
		text += fmt.Sprintf("; or a larger GPU: --gpu %s", larger.Word)
	}
	return text
}

// smallest is the smallest GPU of the table on which so much can be reserved, if it is smaller than
// the one that was used.
func (r *Result) smallest(reserved uint64) (best gpus.GPU, found bool) {
	for _, g := range gpus.All {
		if g.Memory-g.Context >= reserved && g.Memory < r.Memory && (!found || g.Memory < best.Memory) {
			best, found = g, true
		}
	}
	return best, found
}

// larger is the next larger GPU of the table.
func larger(memory uint64) (best gpus.GPU, found bool) {
	for _, g := range gpus.All {
		if g.Memory > memory && (!found || g.Memory < best.Memory) {
			best, found = g, true
		}
	}
	return best, found
}
