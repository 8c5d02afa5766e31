package branches

import (
	"fmt"
	"strings"
)

// A list of branches that no small configuration takes. A line that begins with # is the
// reason for the lines after it; "# only CONFIGURATION" means that this large one takes them.
// The other lines name a branch (Branch.String), or, with * for what it does,
//
//	FILE *               the branches of a file
//	FILE FUNCTION: *     those of a function that is never called
type unreached struct {
	entries []*entry
}

type entry struct {
	line   int
	text   string
	reason string
	used   bool // it names a branch that is not taken
}

// only is the large configuration that takes the branch, if one does.
func (e *entry) only() string {
	name, is := strings.CutPrefix(e.reason, "only ")
	if !is {
		return ""
	}
	return name
}

func readUnreached(text string) (*unreached, error) {
	u := &unreached{}
	reason := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			reason = strings.TrimSpace(line[1:])
		case reason == "":
			return nil, fmt.Errorf("line %d: a branch without a reason", i+1)
		default:
			u.entries = append(u.entries, &entry{line: i + 1, text: line, reason: reason})
		}
	}
	return u, nil
}

// find is the entry for a branch that is not taken; nil if there is none. isCalled reports
// whether its function is called.
func (u *unreached) find(b Branch, isCalled bool) *entry {
	for _, e := range u.entries {
		if e.text == b.String() || e.text == b.File+" *" || e.text == b.File+" "+b.Function+": *" && !isCalled {
			return e
		}
	}
	return nil
}

// A Coverage is how many branches there are and are taken.
type Coverage struct {
	Branches, Taken, Listed int
	ByReason                map[string]int // listed, by reason
}

// compare compares what was taken with the list. It returns what is wrong. explored are the
// configurations of the run.
func (u *unreached) compare(run *Run, explored map[string]bool) (c Coverage, wrong []string) {
	c.ByReason = map[string]int{}
	for _, p := range run.Packages {
		taken := p.taken(run)
		called := map[string]bool{}
		for i, b := range p.Branches {
			if b.What == "entered" && taken[i] {
				called[b.File+" "+b.Function] = true
			}
		}
		for i, b := range p.Branches {
			c.Branches++
			if taken[i] {
				c.Taken++
				wrong = append(wrong, u.checkTaken(b, explored)...)
				continue
			}
			e := u.find(b, called[b.File+" "+b.Function])
			switch {
			case e == nil:
				wrong = append(wrong, fmt.Sprintf("no configuration takes: %s", b))
			case explored[e.only()]:
				e.used = true
				wrong = append(wrong, fmt.Sprintf("line %d: %s does not take it", e.line, e.only()))
			default:
				e.used = true
				c.Listed++
				c.ByReason[e.reason]++
			}
		}
	}
	for _, e := range u.entries {
		if !e.used {
			wrong = append(wrong, fmt.Sprintf("line %d: there is no such branch that is not taken: %s", e.line, e.text))
		}
	}
	return c, wrong
}

// checkTaken reports the entry that names a branch which is taken.
func (u *unreached) checkTaken(b Branch, explored map[string]bool) (wrong []string) {
	for _, e := range u.entries {
		if e.text != b.String() {
			continue
		}
		e.used = true
		if !explored[e.only()] {
			wrong = append(wrong, fmt.Sprintf("line %d: it is taken: %s", e.line, b))
		}
	}
	return wrong
}

// taken reports for each branch whether a configuration takes it.
func (p *Package) taken(run *Run) []bool {
	taken := make([]bool, len(p.Branches))
	for _, o := range run.Outputs {
		for _, i := range o.Branches[p.Path] {
			taken[i] = true
		}
	}
	return taken
}
