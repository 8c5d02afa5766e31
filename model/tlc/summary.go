package tlc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Summary is the result of a run of TLC.
type Summary struct {
	Generated, States, Depth int

	// Verdict is "ok", or the name of the property that does not hold; "deadlock";
	// "liveness" for a temporal property, which TLC does not always name; "error" for
	// anything else.
	Verdict string

	// Trace is the number of states of the counterexample.
	Trace int

	// Labels are those of the counterexample's steps: of each state but the first, by which
	// action it was reached.
	Labels []string

	// Lines are the lines of TLC's output that this was read from.
	Lines []string
}

var (
	countsLine   = regexp.MustCompile(`^([0-9,]+) states generated, ([0-9,]+) distinct states found, ([0-9,]+) states left on queue\.$`)
	depthLine    = regexp.MustCompile(`^The depth of the complete state graph search is ([0-9,]+)\.$`)
	okLine       = regexp.MustCompile(`^Model checking completed\. No error has been found\.$`)
	brokenLine   = regexp.MustCompile(`^Error: (?:Invariant|Action property) (\w+)(?: of module \w+)? is violated`)
	temporalLine = regexp.MustCompile(`^Error: Temporal propert(?:y|ies)(?: \w+)? w(?:as|ere) violated\.`)
	deadlockLine = regexp.MustCompile(`^Error: Deadlock reached\.`)
	errorLine    = regexp.MustCompile(`^Error: `)
	stateLine    = regexp.MustCompile(`^State (\d+): <?(\w+(?:\([\d,]*\))?)?`)
)

// ReadSummary reads the output of TLC.
func ReadSummary(output string) (Summary, error) {
	var s Summary
	counted := false
	for line := range strings.SplitSeq(output, "\n") {
		line = strings.TrimSpace(line)
		verdict := ""
		switch {
		case countsLine.MatchString(line):
			m := countsLine.FindStringSubmatch(line)
			s.Generated, s.States, counted = number(m[1]), number(m[2]), true
		case depthLine.MatchString(line):
			s.Depth = number(depthLine.FindStringSubmatch(line)[1])
		case okLine.MatchString(line):
			verdict = "ok"
		case brokenLine.MatchString(line):
			verdict = brokenLine.FindStringSubmatch(line)[1]
		case temporalLine.MatchString(line):
			verdict = "liveness"
		case deadlockLine.MatchString(line):
			verdict = "deadlock"
		case stateLine.MatchString(line):
			m := stateLine.FindStringSubmatch(line)
			s.Trace = max(s.Trace, number(m[1]))
			if m[1] != "1" {
				s.Labels = append(s.Labels, m[2])
			}
			continue
		case errorLine.MatchString(line):
			if strings.HasPrefix(line, "Error: The behavior up to this point") || strings.HasPrefix(line, "Error: The following behavior") {
				continue
			}
			verdict = "error"
		default:
			continue
		}
		if s.Verdict == "" {
			s.Verdict = verdict
		}
		s.Lines = append(s.Lines, line)
	}
	if !counted || s.Verdict == "" {
		return s, fmt.Errorf("TLC did not finish:\n%s", tail(output, 20))
	}
	return s, nil
}

// number reads digits with commas between the thousands.
func number(text string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(text, ",", "")) // digits and commas only
	return n
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
