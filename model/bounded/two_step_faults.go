package bounded

import (
	"math"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/tlc"
)

// TwoStepFaults is TwoStepFaults.tla: TwoStepMalloc with driver calls that fail.
type TwoStepFaults struct {
	*TwoStepMalloc
	failedSearch, failedGrant, refusedGrant, failedResume action
	faultsOutsideMalloc
}

func openTwoStepFaults(c *tlc.Config) (Module, error) {
	m, err := openTwoStepMalloc(c, "MaxDriverCalls")
	if err != nil {
		return nil, err
	}
	t := &TwoStepFaults{TwoStepMalloc: m}
	failures, err := readFailures(c)
	threads := asInts(m.threads)
	m.firstFault = len(m.labels)
	t.failedSearch = m.add("FailedSearch", threads, asInts(m.Streams), asInts(m.Sizes), failures)
	t.failedGrant = m.add("FailedDriverMalloc", threads)
	t.refusedGrant = m.add("RefusedDriverMalloc", threads)
	t.failedResume = m.add("FailedResume", threads, failures)
	t.faultsOutsideMalloc = addFaultsOutsideMalloc(m.CachingAllocator, failures)
	return t, err
}

// Next implements explore.Specification.
func (t *TwoStepFaults) Next(s *model.State, yield func(label int, next *model.State)) {
	t.TwoStepMalloc.Next(s, yield)
	t.faultsOutsideMalloc.next(s, yield)
	for i, thread := range t.threads {
		id := int(thread)
		at := slices.IndexFunc(s.PendingMallocs, func(c model.PendingMalloc) bool { return c.ID == id })
		if at < 0 {
			for j, stream := range t.Streams {
				for k, size := range t.Sizes {
					interrupt(s, searchOf(id, stream, size), func(n int, next *model.State) { yield(t.failedSearch.label(i, j, k, n), next) })
				}
			}
			continue
		}
		answered := s.PendingMallocs[at].DriverAnswered()
		interrupt(s, resumeOf(id), func(n int, next *model.State) {
			if answered {
				yield(t.failedResume.label(i, n), next)
			} else {
				yield(t.failedGrant.label(i), next)
			}
		})
		if !answered {
			refused := model.DriverResults{LowestFrom: AddressBase, Refusals: math.MaxInt}
			next, _, _ := s.MallocResume(id, refused)
			yield(t.refusedGrant.label(i), &next)
		}
	}
}

// fairness implements Module.
func (t *TwoStepFaults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "FaultSpec"
}
