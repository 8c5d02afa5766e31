package linearizability

// Random is a policy that takes each choice from Pick, which returns a number below n. With a
// generator of package rapid failing schedules shrink.
type Random struct {
	Pick func(n int) int
}

// Choose implements Policy.
func (r Random) Choose(ready []int) int { return ready[r.Pick(len(ready))] }
