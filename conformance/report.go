package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/spec/trace"
)

// Report is what came of an examination.
type Report struct {
	Asked   Level
	Reached Level // the highest with no violation at it or below
	Replay  bool  // one known program was performed (Again), which says nothing of others: no level is reached by it

	Violations []Violation // by level, then in the order of Rules
	Searched   []Searched

	Lacks   []string // abilities that the allocator does not have
	LeftOut []string // areas that are about those
	Unseen  []string // invariants of the level that cannot be seen, and from what they could be
}

// Violation is a rule that the allocator breaks, and the shortest program found that
// shows it.
type Violation struct {
	Rule  Rule
	Found string // what was found, with addresses and sizes
	Area  string
	Seed  uint64
	After int    // operations of the area, until it was found
	File  string // the program as a trace, if it was written

	// Programs are files with the same program in other languages; the kit writes none.
	Programs []string

	failure *Failure
}

// Program is the shortest program found, and the header of a trace of it. In its last
// operation the violation was found, or after it, when everything is put away.
func (v *Violation) Program() (trace.Header, []trace.Op) { return v.failure.Header, v.failure.Ops }

// Steps are the operations of the program in words. One that failed and is tried once more says so.
func (v *Violation) Steps() []string {
	f := v.failure
	var steps []string
	for i := range f.Ops {
		step := f.Ops[i].InWords()
		if i > 0 && i <= len(f.answers) && f.answers[i-1] != "" && f.Ops[i-1].Expect.Error == "" && step == f.Ops[i-1].InWords() {
			step += " (tried again, since it failed)"
		}
		steps = append(steps, step)
	}
	return steps
}

// Write writes the program into a directory, as a trace, and returns the file's name.
func (v *Violation) Write(dir string) (string, error) { return v.failure.Write(dir) }

// Searched is an area that was searched.
type Searched struct {
	Area, What           string
	Operations, Programs int
}

// conclude sorts the violations and finds the level that was reached.
func (r *Report) conclude() {
	place := map[string]int{}
	for i, rule := range Rules() {
		place[rule.Name] = i
	}
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule.Level, b.Rule.Level), cmp.Compare(place[a.Rule.Name], place[b.Rule.Name]))
	})
	r.Reached = r.Asked
	if len(r.Violations) > 0 {
		r.Reached = r.Violations[0].Rule.Level - 1
	}
}

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	if r.Replay {
		fmt.Fprintf(&b, "replayed one program: %d violations\n", len(r.Violations))
	} else {
		fmt.Fprintf(&b, "reached: %v (asked: %v), %d violations\n", r.Reached, r.Asked, len(r.Violations))
	}
	for i := range r.Violations {
		fmt.Fprintf(&b, "\n%d. %v", i+1, &r.Violations[i])
	}
	b.WriteString("\nsearched:\n")
	for _, s := range r.Searched {
		fmt.Fprintf(&b, "  %-11s %6d operations, %4d programs: %s\n", s.Area, s.Operations, s.Programs, s.What)
	}
	if r.Replay {
		return b.String()
	}
	for _, list := range []struct {
		what  string
		items []string
	}{
		{"the allocator lacks", r.Lacks},
		{"so these areas were left out", r.LeftOut},
		{"and these invariants cannot be seen", r.Unseen},
	} {
		if len(list.items) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", list.what, strings.Join(list.items, ", "))
		}
	}
	return b.String()
}

// String is the violation, its program, and where to read about the rule.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (level %v): %s\n", v.Rule.Name, v.Rule.Level, v.Rule.Sentence)
	fmt.Fprintf(&b, "   found: %s\n", v.Found)
	fmt.Fprintf(&b, "   program (area %s, seed %d", v.Area, v.Seed)
	if s := v.failure.Header.Settings; s != "" {
		fmt.Fprintf(&b, ", settings %s", s)
	}
	b.WriteString("):\n")
	for i, step := range v.Steps() {
		fmt.Fprintf(&b, "     %2d  %s", i+1, step)
		if v.failure.Ops[i].Expect.Error != "" {
			fmt.Fprintf(&b, " (to be refused)")
		}
		b.WriteByte('\n')
	}
	if v.failure.Class == probeChanged || strings.HasPrefix(v.failure.Class, probeAccepted) {
		b.WriteString("         and then the call beside the program that was found\n")
	}
	if v.File != "" {
		fmt.Fprintf(&b, "   trace: %s\n", v.File)
	}
	for _, file := range v.Programs {
		fmt.Fprintf(&b, "   the same: %s\n", file)
	}
	fmt.Fprintf(&b, "   read: %s\n", v.Rule.Read)
	return b.String()
}
