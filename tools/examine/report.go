package examine

import (
	"fmt"
	"strings"

	"gaugeblock/conformance"
)

// Report is what came of an examination.
type Report struct {
	*conformance.Report
	Functions Functions // zero for a program that speaks the line protocol
	Contract  Contract
	Returns   bool // it can be told to give everything back: lost memory is found
	// Lacking are lines of the fake GPU's libraries, on functions that were called and are not there.
	Lacking []string
}

// String is the report for people.
func (r *Report) String() string {
	what := ""
	if f := r.Functions; f.Malloc != "" {
		what = fmt.Sprintf("functions: %s and %s; ", f.Malloc, f.Free)
	}
	text := fmt.Sprintf("%scontract: %v\n%s\n%s\n", what, r.Contract, r.Verdict(), r.searched())
	if !r.Returns && !r.Replay {
		text += "not looked for: memory that is lost, since no function empties the cache\n"
	}
	for _, line := range r.Lacking {
		text += line + "\n"
	}
	return text
}

// searched says how much was.
func (r *Report) searched() string {
	var operations, programs int
	var areas, stopped []string
	for i := range r.Searched {
		s := &r.Searched[i]
		if r.Replay {
			return fmt.Sprintf("performed: %s", s.What)
		}
		operations, programs, areas = operations+s.Operations, programs+s.Programs, append(areas, s.Area)
		if s.Stopped != "" {
			stopped = append(stopped, s.Area)
		}
	}
	text := fmt.Sprintf("searched: %d operations in %d programs of the areas %s", operations, programs, strings.Join(areas, ", "))
	if len(stopped) > 0 {
		text += fmt.Sprintf("\nof these not searched further, because the last programs ended within a few operations: %s", strings.Join(stopped, ", "))
	}
	return text
}

// Summary is the report as JSON has it; tools/examine/README.md explains the fields.
type Summary struct {
	Asked      conformance.Level `json:"asked"`
	Reached    conformance.Level `json:"reached"`          // of a replay it says nothing
	Replay     bool              `json:"replay,omitempty"` // one program was performed, and none searched for
	Contract   string            `json:"contract"`
	Functions  []string          `json:"functions,omitempty"` // that were found, as ROLE=NAME
	Operations int               `json:"operations"`
	Violations []SummaryOfOne    `json:"violations"`
	Searched   []string          `json:"searched"` // areas
	LeftOut    []string          `json:"left_out"`
	Lacking    []string          `json:"lacking,omitempty"` // what was called of CUDA and is not there
}

// SummaryOfOne is a violation.
type SummaryOfOne struct {
	Rule    string            `json:"rule"`
	Level   conformance.Level `json:"level"`
	Found   string            `json:"found"`
	Area    string            `json:"area"`
	Seed    uint64            `json:"seed"`
	After   int               `json:"after"`   // operations of the area, until it was found
	Program []string          `json:"program"` // in words
	Files   []string          `json:"files,omitempty"`
}

// Summary makes it.
func (r *Report) Summary() Summary {
	s := Summary{
		Asked: r.Asked, Reached: r.Reached, Replay: r.Replay, Contract: r.Contract.String(), Functions: r.Functions.roles(),
		Violations: []SummaryOfOne{}, Searched: []string{}, LeftOut: append([]string{}, r.LeftOut...), Lacking: r.Lacking,
	}
	for _, a := range r.Searched {
		s.Operations += a.Operations
		s.Searched = append(s.Searched, a.Area)
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		one := SummaryOfOne{Rule: v.Rule.Name, Level: v.Rule.Level, Found: v.Found, Area: v.Area, Seed: v.Seed, After: v.After}
		one.Program = v.Steps()
		if v.File != "" {
			one.Files = append([]string{v.File}, v.Programs...)
		}
		s.Violations = append(s.Violations, one)
	}
	return s
}
