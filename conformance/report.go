package conformance

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
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
	Stopped              string // why it was not searched to its end; "": it was
}

// String is the area in a line.
func (s *Searched) String() string {
	text := fmt.Sprintf("%-11s %6d operations, %4d programs: %s", s.Area, s.Operations, s.Programs, s.What)
	if s.Stopped != "" {
		text += "; not searched further, because " + s.Stopped
	}
	return text
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

// Verdict is the level that was reached, and the violations, for people.
func (r *Report) Verdict() string {
	var b strings.Builder
	if r.Replay {
		fmt.Fprintf(&b, "replayed one program: %d violations\n", len(r.Violations))
	} else {
		fmt.Fprintf(&b, "reached: %v (asked: %v), %d violations\n", r.Reached, r.Asked, len(r.Violations))
	}
	for i := range r.Violations {
		fmt.Fprintf(&b, "\n%d. %v", i+1, &r.Violations[i])
	}
	return b.String()
}

// String is the verdict, and what it rests on.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString(r.Verdict() + "\nsearched:\n")
	for i := range r.Searched {
		fmt.Fprintf(&b, "  %v\n", &r.Searched[i])
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
	steps := v.Steps()
	for i := 0; i < len(steps); {
		number, text := strconv.Itoa(i+1), steps[i]
		n, step := v.alike(steps, i)
		if n > 1 {
			first := v.failure.Ops[i].ID
			number = fmt.Sprintf("%d-%d", i+1, i+n)
			text = strings.Replace(text, fmt.Sprintf("id %d", first), fmt.Sprintf("ids %d to %d", first, first+int64(step*(n-1))), 1)
		}
		if v.failure.Ops[i].Expect.Error != "" {
			text += " (to be refused)"
		}
		fmt.Fprintf(&b, "%7s  %s\n", number, text)
		i += n
	}
	if v.failure.Class == probeChanged || strings.HasPrefix(v.failure.Class, probeAccepted) {
		b.WriteString("         and then the call beside the program that was found\n")
	}
	if v.File != "" {
		fmt.Fprintf(&b, "   trace: %s", v.File)
		for i, file := range v.Programs {
			fmt.Fprintf(&b, "%s%s", []string{", the same as ", " and "}[min(i, 1)], filepath.Ext(file))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "   read: %s\n", v.Rule.Read)
	return b.String()
}

// alike is how many steps from one on say the same of allocations with successive ids, up or down (1, -1): 1 for most.
func (v *Violation) alike(steps []string, from int) (n, step int) {
	ops := v.failure.Ops[from:]
	without := func(i int) string { return strings.Replace(steps[from+i], fmt.Sprintf("id %d", ops[i].ID), "", 1) }
	if len(ops) < 3 || without(0) == steps[from] {
		return 1, 0
	}
	step = int(ops[1].ID - ops[0].ID)
	for n = 1; n < len(ops) && (step == 1 || step == -1); n++ {
		op := &ops[n]
		if op.Kind != ops[0].Kind || op.ID != ops[n-1].ID+int64(step) || op.Expect.Error != ops[0].Expect.Error || without(n) != without(0) {
			break
		}
	}
	if n < 3 {
		return 1, 0
	}
	return n, step
}
