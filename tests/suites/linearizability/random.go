package linearizability

// Random is a policy that asks for each choice: Pick gives a number below n. A
// source that can shrink (a generator of package rapid) makes failing schedules
// shrink.
type Random struct {
	Pick func(n int) int
}

// Choose implements Policy.
func (r Random) Choose(ready []int) int { return ready[r.Pick(len(ready))] }
