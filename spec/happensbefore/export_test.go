package happensbefore

import "testing"

// SmallPasts makes searches so short, and lets pasts be forgotten so early, that small programs
// get there.
func SmallPasts(t *testing.T) {
	before := []int{mostSteps, fewSteps, fewPasts, credit, mostCredit}
	mostSteps, fewSteps, fewPasts, credit, mostCredit = 4, 2, 4, 1, 8
	t.Cleanup(func() {
		mostSteps, fewSteps, fewPasts, credit, mostCredit = before[0], before[1], before[2], before[3], before[4]
	})
}
