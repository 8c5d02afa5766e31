package conformance

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// Report is what came of an examination.
type Report struct {
	Asked   Level
	Reached Level // the highest with no violation at it or below

	Violations []Violation // by level, in the order in which they were found
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

	failure *Failure
}

// Program is the shortest program found, and the header of a trace of it. In its last
// operation the violation was found, or after it, when everything is put away.
func (v *Violation) Program() (spec.TraceHeader, []spec.Op) { return v.failure.Header, v.failure.Ops }

// Write writes the program into a directory, as a trace, and returns the file's name.
func (v *Violation) Write(dir string) (string, error) { return v.failure.Write(dir) }

// Searched is an area that was searched.
type Searched struct {
	Area, What           string
	Operations, Programs int
}

// conclude sorts the violations by level and tells which was reached.
func (r *Report) conclude() {
	var sorted []Violation
	r.Reached = r.Asked
	for level := Safe; level <= Exact; level++ {
		for _, v := range r.Violations {
			if v.Rule.Level == level {
				sorted = append(sorted, v)
				r.Reached = min(r.Reached, level-1)
			}
		}
	}
	r.Violations = sorted
}

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reached: %v (asked: %v), %d rules broken\n", r.Reached, r.Asked, len(r.Violations))
	for i := range r.Violations {
		fmt.Fprintf(&b, "\n%d. %v", i+1, &r.Violations[i])
	}
	b.WriteString("\nsearched:\n")
	for _, s := range r.Searched {
		fmt.Fprintf(&b, "  %-11s %6d operations, %4d programs: %s\n", s.Area, s.Operations, s.Programs, s.What)
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

// String tells the violation, its program, and where to read about the rule.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (level %v): %s\n", v.Rule.Name, v.Rule.Level, v.Rule.Sentence)
	fmt.Fprintf(&b, "   found: %s\n", v.Found)
	fmt.Fprintf(&b, "   program (area %s, seed %d", v.Area, v.Seed)
	if s := v.failure.Header.Settings; s != "" {
		fmt.Fprintf(&b, ", settings %s", s)
	}
	b.WriteString("):\n")
	for i := range v.failure.Ops {
		op := &v.failure.Ops[i]
		fmt.Fprintf(&b, "     %2d  %s", i+1, replay.InWords(op))
		if op.Expect.Error != "" {
			fmt.Fprintf(&b, " (to be refused)")
		}
		b.WriteByte('\n')
	}
	if v.File != "" {
		fmt.Fprintf(&b, "   trace: %s\n", v.File)
	}
	fmt.Fprintf(&b, "   read: %s\n", v.Rule.Read)
	return b.String()
}
