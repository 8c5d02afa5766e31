package linearizability

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// ParseCommand reads what History.Command writes: a line with the setup and the schedule, and the
// program. Without a schedule it is nil.
func ParseCommand(text string) (s Setup, p Program, schedule *Replay, err error) {
	line, program, _ := strings.Cut(strings.TrimSpace(text), "\n")
	verb, args, err := datadriven.ParseLine(line)
	if err != nil || verb != "explore" {
		return s, p, nil, fmt.Errorf("the first line is no explore command: %q", line)
	}
	for _, arg := range args {
		if arg.Key == "schedule" {
			schedule, err = ParseSchedule(arg.Vals)
		} else {
			err = s.Set(arg.Key, arg.Vals)
		}
		if err != nil {
			return s, p, nil, fmt.Errorf("%s: %w", arg.Key, err)
		}
	}
	p, err = ParseProgram(program)
	return s, p, schedule, err
}
