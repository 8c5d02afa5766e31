package fit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gaugeblock/spec"
)

// Tell writes the answer for one GPU: the peak by value, and what follows.
func (a *Answer) Tell(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tpeak reserved\tallocated\ton %s (%s)\n", a.name(), a.GPU, spec.FormatSize(a.Memory))
	for _, t := range a.Tries {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", t.Value, spec.FormatSize(t.PeakReserved), spec.FormatSize(t.PeakAllocated), t.Outcome())
	}
	_ = table.Flush()
	for _, line := range append(a.lines(), a.Doubts...) {
		fmt.Fprintln(w, line)
	}
}

// TellAll writes a line for each GPU, and what the last answer rests on.
func TellAll(w io.Writer, answers []Answer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "GPU\tmemory\tlargest %s\tpeak reserved\t\n", answers[0].name())
	for _, a := range answers {
		peak := ""
		for _, t := range a.Tries {
			if a.Largest != nil && t.Value == *a.Largest {
				peak = spec.FormatSize(t.PeakReserved)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", a.GPU, spec.FormatSize(a.Memory), a.largest(), peak, strings.Join(a.lines()[1:], "; "))
	}
	_ = table.Flush()
	for _, line := range answers[len(answers)-1].Doubts {
		fmt.Fprintln(w, line)
	}
}

func (a *Answer) name() string {
	if a.Name == "" {
		return "value"
	}
	return a.Name
}

// largest is the answer in a cell of a table.
func (a *Answer) largest() string {
	switch {
	case a.Largest == nil && a.Sure:
		return "none"
	case a.Largest == nil:
		return "not known"
	case !a.Sure:
		return fmt.Sprintf("%d or more", *a.Largest)
	case *a.Largest == a.High:
		return fmt.Sprintf("%d, the largest tried", a.High)
	}
	return fmt.Sprint(*a.Largest)
}

// lines are the answer and what makes it doubtful.
func (a *Answer) lines() []string {
	lines := []string{fmt.Sprintf("largest %s that fits: %s", a.name(), a.largest())}
	if a.Interrupted {
		lines = append(lines, "interrupted: the answer so far")
	}
	if len(a.Exceptions) > 0 {
		lines = append(lines, fmt.Sprintf("%s though a larger one does: the memory does not grow with %s, so that still larger ones may fit too", doNotFit(a.Exceptions), a.name()))
	}
	if last := a.nextAbove(); last != nil && last.InPieces {
		lines = append(lines, fmt.Sprintf("with %d there was enough memory, but in pieces: gaugeblock run says whether other --settings help", last.Value))
	}
	lines = append(lines, a.tookLess()...)
	if a.same() {
		lines = append(lines, fmt.Sprintf("the peak was the same with all values: does the program read %s?", a.name()))
	}
	return lines
}

// doNotFit is that of some values, in words.
func doNotFit(values []int) string {
	if len(values) == 1 {
		return fmt.Sprintf("%d does not fit", values[0])
	}
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprint(value)
	}
	return strings.Join(words, ", ") + " do not fit"
}

// tookLess says that the program took less memory with the answer than it first asked for: where it makes its batches
// smaller then, the answer is not the batch that it ran with.
func (a *Answer) tookLess() (lines []string) {
	without := -1
	for _, t := range a.Tries {
		switch {
		case t.Fits && t.Failed == 0:
			without = t.Value
		case t.Fits && a.Largest != nil && t.Value == *a.Largest:
			lines = append(lines, fmt.Sprintf("with %d the program went on after %s with less: on a GPU the edge may be beside it", t.Value, failures(t.Failed)))
		}
	}
	if lines != nil && without >= 0 {
		lines = append(lines, fmt.Sprintf("if it makes its batches smaller then: the largest value tried without a failure is %d", without))
	}
	return lines
}

// failures are so many requests in words.
func failures(n int) string {
	if n == 1 {
		return "1 failed request"
	}
	return fmt.Sprintf("%d failed requests", n)
}

// nextAbove is the smallest value above the answer that does not fit, nil if none was tried.
func (a *Answer) nextAbove() *Try {
	for i := range a.Tries {
		if t := &a.Tries[i]; !t.Fits && (a.Largest == nil || t.Value > *a.Largest) {
			return t
		}
	}
	return nil
}

// same reports whether different values had the same peak, and where memory ran out the same request.
func (a *Answer) same() bool {
	if len(a.Tries) < 2 {
		return false
	}
	for _, t := range a.Tries {
		if t.PeakAllocated != a.Tries[0].PeakAllocated || t.Asked != a.Tries[0].Asked {
			return false
		}
	}
	return true
}

// Outcome says in words what a run did.
func (t *Try) Outcome() string {
	switch {
	case !t.Fits:
		text := "out of memory"
		if t.At != "" {
			text += " at " + t.At
		}
		if t.InPieces {
			text += ": enough memory, but in pieces"
		}
		return text
	case t.Failed > 0:
		return fmt.Sprintf("runs; it went on after %s", failures(t.Failed))
	}
	return "runs"
}

// mostOfTail is how much of what a program prints is kept, in bytes.
const mostOfTail = 16 << 10

// tail keeps the end of what a program prints.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - mostOfTail; more > 0 {
		t.text = append(t.text[:0], t.text[more:]...)
	}
	return len(p), nil
}

// String is the last lines, each on a line of its own behind an error.
func (t *tail) String() string {
	const most = 20
	lines := strings.Split(strings.TrimRight(string(t.text), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ". It printed:\n" + strings.Join(lines[max(len(lines)-most, 0):], "\n")
}
