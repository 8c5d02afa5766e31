package linearizability

import (
	"fmt"
	"slices"
)

// Replay is a policy that follows a schedule. If the schedule names a thread that has ended,
// or is at its end, the first thread that has not ended runs. So a schedule can be
// shortened by hand.
type Replay struct {
	schedule []int
}

// ParseSchedule parses the names of threads: A, B, B, A.
func ParseSchedule(names []string) (*Replay, error) {
	r := &Replay{}
	for _, name := range names {
		if len(name) != 1 || name[0] < 'A' || name[0] > 'Z' {
			return nil, fmt.Errorf("%q is not a thread", name)
		}
		r.schedule = append(r.schedule, int(name[0]-'A'))
	}
	return r, nil
}

// FormatSchedule is the inverse of ParseSchedule.
func FormatSchedule(schedule []int) []string {
	names := make([]string, len(schedule))
	for i, thread := range schedule {
		names[i] = threadName(thread)
	}
	return names
}

// Choose implements Policy.
func (r *Replay) Choose(ready []int) int {
	if len(r.schedule) == 0 {
		return ready[0]
	}
	next := r.schedule[0]
	r.schedule = r.schedule[1:]
	if !slices.Contains(ready, next) {
		return ready[0]
	}
	return next
}
