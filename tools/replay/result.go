package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/torchversion"
)

// Result is what came of the replay of one trace. At most one of
// FirstDifference and NotSupported is set; Exact says that neither is, and that
// something was compared.
//
// A trace need not tell every address that the driver returned. Then the trace is replayed with
// several, and FirstDifference is that of the replay that came furthest. If the addresses matter,
// and the trace does not tell them, NotDetermined is set beside it: the allocator need not be to
// blame.
type Result struct {
	File            string      `json:"file"`
	Exact           bool        `json:"exact"`
	Operations      int         `json:"operations"` // in the whole trace
	FirstDifference *Difference `json:"first_difference"`
	// what the allocator cannot do, and where the trace asks for it
	NotSupported  string `json:"not_supported,omitempty"`
	NotDetermined string `json:"not_determined,omitempty"` // what the trace does not tell
	// addresses that the trace does not tell and that were found by trying
	Found int `json:"found,omitempty"`
	// operations of which something was expected, up to the first difference
	Compared int `json:"compared"`
	// the trace expects nothing, and was only performed
	Uncompared bool `json:"uncompared,omitempty"`
	// the operation at which the comparison ended, if it did before the trace: in it PyTorch failed in
	// the middle of a restore, which the allocator refuses (deviation checkpoints/tested-late)
	HalfDone int `json:"half_done,omitempty"`
	// the trace has no line that says where it ends: it may have been cut off
	NoEnd bool `json:"no_end,omitempty"`

	// of PyTorch: the trace does not tell it, and is exact by its rules
	Release string `json:"release,omitempty"`
	Rules   string `json:"rules,omitempty"` // the release of PyTorch whose rules were followed

	Parts    Parts  `json:"-"` // what was compared
	Recorded string `json:"-"` // what recorded the trace, in words; "" if its header does not tell
}

// String is the result in one line, with the layout diff, if there is one, on
// indented lines below.
func (r *Result) String() string {
	file := quote.Text(r.File)
	switch {
	case r.NotSupported != "":
		return fmt.Sprintf("%s: not supported: %s", file, r.NotSupported)
	case r.NotDetermined != "":
		return fmt.Sprintf("%s: not determined: %s; the one that came furthest: %v", file, r.NotDetermined, r.FirstDifference)
	case r.FirstDifference != nil:
		return fmt.Sprintf("%s%s: %v", file, byRules(r.Rules, r.Release), r.FirstDifference)
	case r.Uncompared:
		return fmt.Sprintf("%s: performed (%s, nothing to compare with%s)", file, english.Plural(r.Operations, "operation", ""), r.noEnd())
	}
	text := english.Plural(r.Operations, "operation", "") + byRules(r.Rules, r.Release)
	if r.Found > 0 {
		text += fmt.Sprintf(", %s found by trying", english.Plural(r.Found, "address", ""))
	}
	if r.HalfDone > 0 {
		text += fmt.Sprintf(", compared up to operation %d: a restore in the middle of which PyTorch fails is refused", r.HalfDone)
	}
	if r.Release != "" {
		text += ", by the rules of PyTorch " + r.Release + ", which the trace does not tell"
	}
	return fmt.Sprintf("%s: exact (%s%s)", file, text, r.noEnd())
}

// byRules names the release whose rules were followed, if that is not told elsewhere.
func byRules(rules, elsewhere string) string {
	if rules == "" || elsewhere != "" {
		return ""
	}
	return ", by the rules of PyTorch " + rules
}

func (r *Result) noEnd() string {
	if r.NoEnd {
		return "; it has no end, and may have been cut off"
	}
	return ""
}

// Difference is where an allocator first did not do what was recorded.
type Difference struct {
	Operation int    `json:"operation"` // from 1; the end of the trace counts as one after the last
	Line      int    `json:"line"`      // in the file, from 1
	Op        string `json:"op"`        // the operation in words
	// what differs: "error", "address", "events", "layout", or the key of a statistic
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`

	// LayoutDiff shows the memory around the first segment that differs, as
	// go-cmp does: - is what was expected, + is what there is. Empty when the
	// layouts are equal or none was recorded here.
	LayoutDiff string `json:"layout_diff,omitempty"`
}

func (d *Difference) String() string {
	text := fmt.Sprintf("operation %d (line %d), %s: %s: expected %s, got %s",
		d.Operation, d.Line, quote.Text(d.Op), quote.Text(d.Field), quote.Text(d.Expected), quote.Text(d.Got))
	if d.LayoutDiff != "" {
		text += "\n" + indent(d.LayoutDiff)
	}
	return text
}

func indent(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n\t")
}

// Tally counts results.
type Tally struct {
	Traces        int `json:"traces"`
	Exact         int `json:"exact"`
	Uncompared    int `json:"uncompared,omitempty"`
	NotDetermined int `json:"not_determined,omitempty"`
	NotSupported  int `json:"not_supported,omitempty"`
	Unreadable    int `json:"unreadable,omitempty"` // bad input, not among Traces

	Operations int    `json:"-"`
	Parts      Parts  `json:"-"` // what was compared in every trace
	Recorded   string `json:"-"` // what recorded all of them, in words; "" if they differ in that

	Rules []string `json:"rules,omitempty"` // the releases of PyTorch whose rules were followed, the oldest first
}

// Add counts a result.
func (t *Tally) Add(r *Result) {
	if t.Traces == 0 {
		t.Parts, t.Recorded = r.Parts, r.Recorded
	}
	t.Parts = t.Parts.and(r.Parts)
	if t.Recorded != r.Recorded {
		t.Recorded = ""
	}
	if r.Rules != "" && !slices.Contains(t.Rules, r.Rules) {
		t.Rules = append(t.Rules, r.Rules)
		slices.SortFunc(t.Rules, func(a, b string) int { return cmp.Or(torchversion.Compare(a, b), cmp.Compare(a, b)) })
	}
	t.Traces++
	t.Operations += r.Operations
	if r.Exact {
		t.Exact++
	}
	if r.Uncompared {
		t.Uncompared++
	}
	if r.NotDetermined != "" {
		t.NotDetermined++
	}
	if r.NotSupported != "" {
		t.NotSupported++
	}
}

// String leaves out what did not occur, except for the exact ones. If all are exact, it
// says what was compared with what.
func (t Tally) String() string {
	if parts := t.Parts.String(); t.Exact == t.Traces && t.Unreadable == 0 && t.Recorded != "" && parts != "" {
		return fmt.Sprintf("%s, %s: every %s as %s", english.Plural(t.Traces, "trace", ""),
			humanize.Comma(int64(t.Operations))+" "+english.PluralWord(t.Operations, "operation", ""), parts, quote.Text(t.Recorded))
	}
	text := fmt.Sprintf("%s, %d exact", english.Plural(t.Traces, "trace", ""), t.Exact)
	if t.Uncompared > 0 {
		text += fmt.Sprintf(", %d performed", t.Uncompared)
	}
	if t.NotDetermined > 0 {
		text += fmt.Sprintf(", %d not determined", t.NotDetermined)
	}
	if t.NotSupported > 0 {
		text += fmt.Sprintf(", %d not supported", t.NotSupported)
	}
	if t.Unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", t.Unreadable)
	}
	return text + byRules(strings.Join(t.Rules, ", "), "")
}
