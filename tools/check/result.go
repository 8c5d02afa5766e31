package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/quote"
)

// Kind says what is wrong.
type Kind string

// The kinds of violations.
const (
	Hazard       Kind = "hazard"        // work on memory that others' work may still use
	Overlap      Kind = "overlap"       // memory was allocated twice
	DoubleFree   Kind = "double free"   // of memory that was freed before
	ForeignFree  Kind = "foreign free"  // of memory that was never allocated
	WrongSize    Kind = "wrong size"    // a free names another size than the allocation
	NotAllocated Kind = "not allocated" // memory is used, or recorded, that is not allocated
	// memory was allocated that was not obtained from the driver
	NoMemory      Kind = "no memory"
	Returned      Kind = "returned"       // allocated memory was returned to the driver
	Leak          Kind = "leak"           // memory is allocated at the end
	Departure     Kind = "departure"      // the reference decides otherwise
	DeviceRefuses Kind = "device refuses" // the device does not do what the log says it did

	// With Options.Alignment and Options.NeedlessCalls.
	Misaligned   Kind = "misaligned"
	NeedlessCall Kind = "needless driver call"
)

// Violation is something that must not be.
type Violation struct {
	Line int    `json:"line"` // of the log; of a leak, where the memory was allocated
	Kind Kind   `json:"kind"`
	Text string `json:"text"`

	AtFault Party    `json:"at_fault,omitempty"` // of a hazard, whose part was not done
	Details []Detail `json:"details,omitempty"`
}

// Detail is a line below a violation.
type Detail struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (v *Violation) detail(name, text string) { v.Details = append(v.Details, Detail{name, text}) }

// Result is what came of one log.
type Result struct {
	File       string `json:"file"`
	Operations int    `json:"operations"`
	// in the order in which they were found, at most mostViolations
	Violations []Violation `json:"violations"`
	More       int         `json:"more"` // that are not listed
	Notes      []string    `json:"notes,omitempty"`

	// NoWork: the log does not say what work uses the memory, so that hazards could not be
	// looked for. Such a log is not clean.
	NoWork bool `json:"no_work,omitempty"`
}

// mostViolations bounds what is kept of a log in which nothing is right.
const mostViolations = 100

// add adds a violation with a text.
func (r *Result) add(v Violation, format string, args ...any) {
	if len(r.Violations) == mostViolations {
		r.More++
		return
	}
	v.Text = fmt.Sprintf(format, args...)
	r.Violations = append(r.Violations, v)
}

// Count is how many violations there are.
func (r *Result) Count() int { return len(r.Violations) + r.More }

// String is a line for the log, and one for each violation, with its details below. They
// are broken to fit a terminal.
func (r *Result) String() string {
	var b strings.Builder
	file := quote.Text(r.File)
	fmt.Fprintf(&b, "%s: %s in %s", file, english.Plural(r.Count(), "violation", ""), english.Plural(r.Operations, "operation", ""))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "\n%s:%d: %s: %s", file, v.Line, v.Kind, v.Text)
		for _, d := range v.Details {
			fmt.Fprintf(&b, "\n    %-10s %s", d.Name, wrap(d.Text, 15))
		}
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n%s: %d more are not listed", file, r.More)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n%s: note: %s", file, note)
	}
	return b.String()
}

// wrap breaks a text that begins at a column into lines of a terminal's width.
func wrap(text string, column int) string {
	const width = 80
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			at += n
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column + n
		default:
			b.WriteByte(' ')
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// Tally counts results.
type Tally struct {
	Logs  int `json:"logs"`
	Clean int `json:"clean"`
	// nothing was found, and hazards could not be looked for
	NoWork     int `json:"no_work,omitempty"`
	Violations int `json:"violations"`
	Unreadable int `json:"unreadable,omitempty"` // bad input, not among Logs
}

// Add counts a result.
func (t *Tally) Add(r *Result) {
	t.Logs++
	t.Violations += r.Count()
	switch {
	case r.Count() > 0:
	case r.NoWork:
		t.NoWork++
	default:
		t.Clean++
	}
}

// String leaves out what did not occur, except for the clean ones.
func (t Tally) String() string {
	text := fmt.Sprintf("%s, %d clean", english.Plural(t.Logs, "log", ""), t.Clean)
	if t.NoWork > 0 {
		text += fmt.Sprintf(", %d without work, so hazards could not be looked for", t.NoWork)
	}
	if t.Violations > 0 {
		text += ", " + english.Plural(t.Violations, "violation", "")
	}
	if t.Unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", t.Unreadable)
	}
	return text
}
