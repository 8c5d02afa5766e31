package abstract

import (
	"math/bits"
	"slices"
)

// IsStep reports whether an abstract memory may go from one state to another: whether Next has
// the step, without listing all steps. In from and to two allocations may overlap.
func (m *Machine) IsStep(from, to State) bool {
	gone, come := difference(from.Allocations, to.Allocations), difference(to.Allocations, from.Allocations)
	used := from.Work
	switch {
	case len(gone) == 0 && len(come) == 0:
	case len(gone) == 0 && len(come) == 1:
		x := come[0]
		if !m.serves(x.Memory) || x.Users != 0 || !m.mayBeTaken(from, x.Memory, x.Stream, to.Work) {
			return false
		}
	case len(gone) == 1 && len(come) == 0:
		used = launch(gone[0], used)
	case len(gone) == 1 && len(come) == 1:
		if !isRecorded(gone[0], come[0]) {
			return false
		}
	default:
		return false
	}
	for i := range used {
		n := len(used[i]) - len(to.Work[i])
		if n < 0 || !slices.Equal(used[i][n:], to.Work[i]) {
			return false
		}
	}
	return m.mayBelong(from, to)
}

// difference is what one list has more than another. An allocation can be twice in a list, where
// a malloc has returned the same memory again.
func difference(list, other []Allocation) (more []Allocation) {
	rest := slices.Clone(other)
	for _, x := range list {
		if i := slices.Index(rest, x); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			more = append(more, x)
		}
	}
	return more
}

// serves reports whether memory is consecutive, and enough for the least request.
func (m *Machine) serves(memory Bytes) bool {
	run := memory >> bits.TrailingZeros64(uint64(memory))
	return run&(run+1) == 0 && bits.OnesCount64(uint64(memory)) >= slices.Min(m.Sizes)
}

// isRecorded reports whether an allocation has got one user more.
func isRecorded(before, after Allocation) bool {
	added := after.Users &^ before.Users
	return before.Memory == after.Memory && before.Stream == after.Stream && before.Users&^after.Users == 0 &&
		bits.OnesCount64(uint64(added)) == 1 && !added.Has(before.Stream)
}

// mayBelong is the rule BelongsAfter.
func (m *Machine) mayBelong(from, to State) bool {
	for _, x := range to.Allocations {
		if x.Memory&^to.Belongs[x.Stream-1] != 0 {
			return false
		}
	}
	for i, memory := range to.Belongs {
		for _, other := range to.Belongs[:i] {
			if memory&other != 0 {
				return false
			}
		}
		if m.worksElsewhere(memory&^from.Belongs[i], i+1, to.Work) {
			return false
		}
	}
	return true
}
