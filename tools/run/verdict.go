package run

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/brief"
	"gaugeblock/internal/quote"
	"gaugeblock/spec"
	"gaugeblock/upstream"
	"github.com/dustin/go-humanize/english"
)

func size(bytes uint64) string { return spec.FormatSize(bytes) }

// prefix is what the lines begin with: they stand among those of the program.
const prefix = "gaugeblock: "

// Tell writes the result in three lines: the peaks, whether and where memory ran out, and what
// to try. Behind them is what the answer rests on. A terminal emphasizes the first and the third.
func (r *Result) Tell(w io.Writer, emphasize func(string) string) {
	process, device := r.Worst()
	if device == nil {
		none := brief.Lines{Cause: r.silence()}
		none.WriteBehind(w, prefix, emphasize)
		return
	}
	brief.Lines{
		Happened: quote.Text(fmt.Sprintf("peak reserved %s, allocated %s, on %s (%s)%s", size(device.PeakReserved), size(device.PeakAllocated),
			r.GPU, size(r.Memory), r.others(process))),
		Cause: quote.Text(r.memoryLine(device)),
		Try:   r.advice(device),
	}.WriteBehind(w, prefix, emphasize)
	for _, line := range append([]string{r.byRank()}, r.Doubts()...) {
		brief.Lines{Cause: quote.Text(line)}.WriteBehind(w, prefix, emphasize)
	}
}

// silence is why no process has answered.
func (r *Result) silence() string {
	const signals = 128 // a status above it is a signal, as a shell has it
	if r.Status > signals {
		return fmt.Sprintf("no answer: the program was ended by signal %d", r.Status-signals)
	}
	if r.unread != "" {
		return "no answer: no Python read PYTHONPATH; " + r.unread
	}
	for i := range r.Processes {
		if other := r.Processes[i].elsewhere(); other != "" {
			return "no answer: " + other
		}
	}
	if n := len(r.Unanswered); n > 0 {
		return fmt.Sprintf("no answer: %s used a GPU, and ended without one", english.Plural(n, "process", ""))
	}
	return "no process allocated GPU memory through PyTorch, or none could end with an answer"
}

// elsewhere says that the process has another allocator, which is not followed; "" if it has not.
func (a *Answer) elsewhere() string {
	if a.OtherAllocator == "" {
		return ""
	}
	return fmt.Sprintf("process %d allocates by %s, and PyTorch's own allocator is what is followed", a.PID, a.OtherAllocator)
}

// short is a place in the program of which folders are left out if it has more than most characters.
func short(place string, most int) string {
	for utf8.RuneCountInString(place) > most {
		_, behind, found := strings.Cut(strings.TrimPrefix(place, "…/"), "/")
		if !found {
			break
		}
		place = "…/" + behind
	}
	return place
}

// others says whose the peak is if there were several processes.
func (r *Result) others(worst *Answer) string {
	if len(r.Processes) < 2 {
		return ""
	}
	if worst.Rank != "" {
		return fmt.Sprintf(", rank %s of %d", worst.Rank, len(r.Processes))
	}
	return fmt.Sprintf(", process %d of %d", worst.PID, len(r.Processes))
}

// memoryLine says whether and where memory ran out, what was asked for, and what there was.
func (r *Result) memoryLine(device *Device) string {
	f, ended := r.Failure()
	if f == nil {
		text := "it did not run out of memory"
		switch {
		case r.Interrupted:
			text = "interrupted; until then " + text
		case r.Status != 0:
			text = fmt.Sprintf("the program ended with status %d; until then %s", r.Status, text)
		}
		if device.Retries > 0 {
			text += fmt.Sprintf(", but freed its unused segments %s to go on", times(device.Retries))
		}
		return text
	}
	what := "out of memory"
	if !ended {
		what = "it went on after a failed request"
	}
	asked := "asked"
	if f.By != "" {
		asked = f.By + " asked"
	}
	text := fmt.Sprintf(" (step %d): %s %s; free %s, idle %s", f.Step, asked, size(f.Asked), size(f.free()), size(f.idle()))
	if f.At != "" {
		what += " at "
	}
	return what + short(f.At, brief.Columns-len(prefix)-len(what)-len(text)) + text
}

// idle is what was reserved and not allocated, and free what the GPU still had for the program.
func (f *OutOfMemory) idle() uint64 { return f.Reserved - min(f.Allocated, f.Reserved) }
func (f *OutOfMemory) free() uint64 { return min(f.Free, f.Limit-min(f.Reserved, f.Limit)) }

// InPieces reports whether there was enough memory, but not in one piece.
func (f *OutOfMemory) InPieces() bool {
	return f.By == "" && f.Asked > 0 && f.idle()+f.free() >= f.Asked
}

// advice says what to try, and why.
func (r *Result) advice(device *Device) string {
	f, _ := r.Failure()
	if f == nil && r.Status != 0 && !r.Interrupted {
		return "if it ended too early, it may need more than that"
	}
	if f == nil {
		return r.smallerGPU(device)
	}
	if f.By != "" {
		text := f.By + " takes memory beside PyTorch's: try smaller batches"
		if larger, found := smallest(f.Limit + 1); found {
			text += fmt.Sprintf(", or at least --gpu %s", larger.Word)
		}
		return text
	}
	if f.InPieces() {
		return "enough memory, but in pieces: " + r.Settings.try()
	}
	lack := f.Asked - f.idle() - f.free()
	if r.Settings != nil && r.Settings.Advised != "" {
		return fmt.Sprintf("%s lack: %s", size(lack), r.Settings.try())
	}
	text := fmt.Sprintf("%s lack at this request: try smaller batches", size(lack))
	if larger, found := smallest(f.Limit + lack); found {
		return text + fmt.Sprintf(", or at least --gpu %s", larger.Word)
	}
	return text
}

// smallerGPU is what is known of smaller GPUs after a run that did not fail. Where the cache is freed for want of
// memory a program reserves less than here.
func (r *Result) smallerGPU(device *Device) string {
	enough, found := r.smaller(device.PeakReserved)
	perhaps, _ := r.smaller(device.PeakAllocated)
	switch {
	case found && perhaps.Memory < enough.Memory:
		return fmt.Sprintf("--gpu %s has so much (%s); a smaller one may do, since cached memory is freed there", enough.Word, size(enough.Memory))
	case found:
		return fmt.Sprintf("the smallest GPU of the table with so much is --gpu %s (%s)", enough.Word, size(enough.Memory))
	case perhaps.Word != "":
		return fmt.Sprintf("a smaller GPU may do, since cached memory is freed there: --gpu %s tries it", perhaps.Word)
	}
	return "the table has no smaller GPU on which what is allocated fits"
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// try is what to try, by what is known of other settings.
func (s *OtherSettings) try() string {
	switch {
	case s != nil && s.Advised == "" && !s.Sure && s.NoStacks:
		return "--report PAGE.html tells more of other settings"
	case s == nil || s.Advised == "" && !s.Sure:
		return "try smaller batches; whether settings help is not known"
	case s.Advised == "":
		return "try smaller batches; no setting compared suffices"
	case s.Sure:
		return "try --settings " + s.Advised
	}
	return "try --settings " + s.Advised + ", likely enough"
}

// smaller is the smallest GPU of the table on which so much can be reserved, if it is smaller than the one
// that was used.
func (r *Result) smaller(reserved uint64) (best gpus.GPU, found bool) {
	if best, found = smallest(reserved); !found || best.Memory >= r.Memory {
		return gpus.GPU{}, false
	}
	return best, true
}

// smallest is the smallest GPU of the table on which so much can be reserved.
func smallest(reserved uint64) (best gpus.GPU, found bool) {
	for _, g := range gpus.All {
		if g.Memory-g.Context >= reserved && (!found || g.Memory < best.Memory) {
			best, found = g, true
		}
	}
	return best, found
}

// untried says that nobody has tried the program's PyTorch with this.
func (a *Answer) untried() string {
	number, _, _ := strings.Cut(a.Torch, "+")
	parts := strings.Split(number, ".")
	if len(parts) < 2 {
		return ""
	}
	if release, known := upstream.Find(parts[0] + "." + parts[1]); known && release.Tried != "" {
		return ""
	}
	return fmt.Sprintf("nobody has tried PyTorch %s with this gaugeblock, which knows releases up to %s", number, upstream.Newest().Name)
}
