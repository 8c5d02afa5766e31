package unbounded

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Solver is the command of the SMT solver.
const Solver = "z3"

// limit is the time for one query.
const limit = 10 * time.Second

// IsInstalled reports whether the solver is there.
func IsInstalled() bool {
	_, err := exec.LookPath(Solver)
	return err == nil
}

// Solve has the solver's answers to obligations: "unsat" if the obligation holds, "sat" if
// there is a counterexample, "unknown" if the solver finds neither within the limit.
func Solve(list []Obligation) ([]string, error) {
	var text strings.Builder
	for _, o := range list {
		fmt.Fprintf(&text, "(reset)\n(set-option :timeout %d)\n%s", limit.Milliseconds(), o.Query)
	}
	command := exec.Command(Solver, "-in", "-smt2")
	command.Stdin = strings.NewReader(text.String())
	out, err := command.Output()
	answers := strings.Fields(string(out))
	if err != nil || len(answers) != len(list) {
		return nil, fmt.Errorf("%s: %w: %s", Solver, err, out)
	}
	for i, a := range answers {
		if a != "unsat" && a != "sat" && a != "unknown" {
			return nil, fmt.Errorf("%s: %s: %s", Solver, list[i].Name, out)
		}
	}
	return answers, nil
}
