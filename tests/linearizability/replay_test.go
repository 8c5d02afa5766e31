package linearizability

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Replay is a policy that follows a schedule. If the schedule names a thread that has ended,
// or is at its end, the first thread that has not ended runs. So a schedule can be
// shortened by hand.
type Replay struct {
	schedule []int
}

// ParseSchedule parses the names of threads: A, B, B, A. A number says how often one runs in
// succession: A, B*2, A.
func ParseSchedule(names []string) (*Replay, error) {
	r := &Replay{}
	for _, word := range names {
		name, times, several := strings.Cut(word, "*")
		n, err := strconv.Atoi(times)
		if !several {
			n, err = 1, nil
		}
		if len(name) != 1 || name[0] < 'A' || name[0] > 'Z' || err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a thread", word)
		}
		r.schedule = append(r.schedule, slices.Repeat([]int{int(name[0] - 'A')}, n)...)
	}
	return r, nil
}

// FormatSchedule is the inverse of ParseSchedule.
func FormatSchedule(schedule []int) (names []string) {
	for begin := 0; begin < len(schedule); {
		end := begin + 1
		for end < len(schedule) && schedule[end] == schedule[begin] {
			end++
		}
		name := threadName(schedule[begin])
		if n := end - begin; n > mostRepeated {
			names = append(names, fmt.Sprintf("%s*%d", name, n))
		} else {
			names = append(names, slices.Repeat([]string{name}, n)...)
		}
		begin = end
	}
	return names
}

// mostRepeated is how often a thread is named in succession; beyond that there is a number.
const mostRepeated = 4

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
