package linearizability

import (
	"math/rand/v2"
	"slices"
)

// A Finding is a program with a schedule under which it fails: it is not linearizable, or a
// Failure.
type Finding struct {
	Setup       Setup
	Program     Program
	Schedule    []int
	Preemptions int
	Err         error
	Runs        int // until it failed
}

// Length is the number of operations.
func (f *Finding) Length() int { return len(slices.Concat(f.operations()...)) }

// operations lists the operations before and after the threads, and those of each thread.
func (f *Finding) operations() [][]Op {
	return append([][]Op{f.Program.Before, f.Program.After}, f.Program.Threads...)
}

// Try runs the program and reports whether it fails. The finding then has the schedule and the
// reason.
func (f *Finding) Try(policy Policy) bool {
	recording := &recordingPolicy{Policy: policy}
	h, err := Run(f.Setup, f.Program, recording)
	if err == nil {
		err = Check(h)
	}
	f.Runs++
	if h != nil {
		f.Preemptions = h.Preemptions
	}
	f.Schedule, f.Err = recording.schedule, err
	return err != nil
}

// recordingPolicy records the choices of another policy.
type recordingPolicy struct {
	Policy
	schedule []int
}

func (n *recordingPolicy) Choose(ready []int) int {
	thread := n.Policy.Choose(ready)
	n.schedule = append(n.schedule, thread)
	return thread
}

// TryRandomly runs the program without preemptions, and then with one to three changes of priority,
// the given number of times.
func (f *Finding) TryRandomly(r *rand.Rand, times int) bool {
	if f.Try(&Exhaustive{Bounded: true}) {
		return true
	}
	steps := len(f.Schedule)
	for i := range times {
		if f.Try(NewPriorities(r, 1+i%3, steps)) {
			return true
		}
	}
	return false
}

// TryAll runs the schedules with at most preemptions preemptions, most of them at most. It reports
// whether one fails, and whether all were run.
func (f *Finding) TryAll(preemptions, most int) (fails, complete bool) {
	policy := &Exhaustive{Bounded: true, Preemptions: preemptions}
	for range most {
		if f.Try(policy) {
			return true, false
		}
		if !policy.Next() {
			return false, true
		}
	}
	return false, false
}

// FewestPreemptions is the finding under a schedule with as few preemptions as a search of most
// schedules for each number finds.
func (f *Finding) FewestPreemptions(most int) *Finding {
	for n := range f.Preemptions {
		less := *f
		if fails, _ := less.TryAll(n, most); fails {
			return &less
		}
	}
	return f
}

// Shorten leaves out the callback, whole threads and single operations as long as somehow reports
// that the program still fails. It is told the schedule under which the longer one failed.
func (f *Finding) Shorten(somehow func(f *Finding, schedule []int) bool) *Finding {
	for again := true; again; {
		again = false
		for _, shorter := range f.shorter() {
			if somehow(shorter, f.Schedule) {
				f, again = shorter, true
				break
			}
		}
	}
	return f
}

// shorter lists the programs with one part less, the largest part first.
func (f *Finding) shorter() (list []*Finding) {
	if len(f.Setup.Callback) > 0 {
		less := *f
		less.Setup.Callback = nil
		list = append(list, &less)
	}
	for i := range f.Program.Threads {
		less := *f
		less.Program.Threads = slices.Delete(slices.Clone(f.Program.Threads), i, i+1)
		list = append(list, &less)
	}
	for i, ops := range f.operations() {
		for j := range ops {
			less := *f
			lists := f.operations()
			lists[i] = slices.Delete(slices.Clone(ops), j, j+1)
			less.Program = Program{Before: lists[0], After: lists[1], Threads: lists[2:]}
			list = append(list, &less)
		}
	}
	return list
}
