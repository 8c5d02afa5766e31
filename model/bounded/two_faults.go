package bounded

import (
	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// TwoFaults is TwoFaults.tla: PoolFaults, and mallocs that go on since the driver has no memory, in
// which another call fails.
type TwoFaults struct {
	*PoolFaults
	refusedFailed, refusedTwice action
}

func openTwoFaults(c *tlc.Config) (Module, error) {
	m, err := openPoolFaults(c)
	if err != nil {
		return nil, err
	}
	t := &TwoFaults{PoolFaults: m.(*PoolFaults)}
	streams, sizes := asInts(t.Streams), asInts(t.Sizes)
	t.refusedFailed = t.add("RefusedFailedMalloc", streams, sizes, t.faults.failures)
	t.refusedTwice = t.add("RefusedTwiceMalloc", streams, sizes)
	return t, nil
}

// Next implements explore.Specification.
func (t *TwoFaults) Next(s *model.State, yield func(label int, next *model.State)) {
	t.PoolFaults.Next(s, yield)
	for i, stream := range t.Streams {
		for j, size := range t.Sizes {
			refused := s.Calls(refusedMallocOf(stream, size, 1))
			for _, before := range refused.Refused {
				for n, call := range refused.Made[before:] {
					yield(t.refusedFailed.label(i, j, n), &call.Failed)
				}
			}
			if len(s.Calls(refusedMallocOf(stream, size, 2)).Refused) == 2 {
				next, r := s.Malloc(stream, size, refusals(2))
				t.hold(&next, r, stream, size)
				yield(t.refusedTwice.label(i, j), &next)
			}
		}
	}
}

// fairness implements Module.
func (t *TwoFaults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "TwoFaultSpec"
}

// refusals are the results of a driver that has no memory for the first calls of a malloc.
func refusals(n int) model.DriverResults {
	return model.DriverResults{LowestFrom: AddressBase, Refusals: n}
}

func refusedMallocOf(stream spec.Stream, bytes uint64, n int) func(model.State) model.State {
	return func(s model.State) model.State {
		next, _ := s.Malloc(stream, bytes, refusals(n))
		return next
	}
}

// CallsAfterRefusal are the driver calls of a step RefusedFailedMalloc, of which the last fails,
// and how many of them were made before the driver had no memory.
func CallsAfterRefusal(s *model.State, arguments []int) (calls []string, before int) {
	made := s.Calls(refusedMallocOf(spec.Stream(arguments[0]), uint64(arguments[1]), 1))
	before = made.Refused[0]
	return made.Names()[:before+arguments[2]], before
}
