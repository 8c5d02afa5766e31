package happensbefore

import "testing"

// SmallPasts makes searches so short, and lets pasts be forgotten so early, that small programs
// get there.
func SmallPasts(t *testing.T) {
	before := []int{mostSteps, farSteps, fewSteps, fewPasts}
	mostSteps, farSteps, fewSteps, fewPasts = 4, 1, 2, 4
	t.Cleanup(func() { mostSteps, farSteps, fewSteps, fewPasts = before[0], before[1], before[2], before[3] })
}
