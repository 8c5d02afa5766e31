package linearizability

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Random is a policy that takes each choice from Pick, which returns a number below n. With a
// generator of package rapid failing schedules shrink.
type Random struct {
	Pick func(n int) int
}

// Choose implements Policy.
func (r Random) Choose(ready []int) int { return ready[r.Pick(len(ready))] }

// Priorities is the policy of probabilistic concurrency testing (Burckhardt and others, ASPLOS
// 2010): each thread has a priority, and of those that can go on the highest runs. At some steps,
// drawn beforehand, the thread that runs gets the lowest one. If a mistake needs n changes of
// threads at certain steps of a program with k steps and t threads, a run with n-1 changes
// meets it with a probability of at least 1/(t k^(n-1)), however many schedules there are.
type Priorities struct {
	priorities []int // by thread
	changes    []int // the steps at which a priority changes
	step       int
	lowest     int
}

// NewPriorities draws the priorities of up to 26 threads, and the changes among a number of steps.
func NewPriorities(r *rand.Rand, changes, steps int) *Priorities {
	p := &Priorities{priorities: r.Perm(26)}
	for range changes {
		p.changes = append(p.changes, r.IntN(max(steps, 1)))
	}
	return p
}

// Choose implements Policy.
func (p *Priorities) Choose(ready []int) int {
	highest := func() int {
		return slices.MaxFunc(ready, func(a, b int) int { return cmp.Compare(p.priorities[a], p.priorities[b]) })
	}
	for _, at := range p.changes {
		if at == p.step {
			p.lowest--
			p.priorities[highest()] = p.lowest
		}
	}
	p.step++
	return highest()
}
