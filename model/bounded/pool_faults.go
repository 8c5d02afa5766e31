package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
)

// PoolFaults is PoolFaults.tla: PrivatePools with driver calls that fail.
type PoolFaults struct {
	*PrivatePools
	faults faults
}

func openPoolFaults(c *tlc.Config) (Module, error) {
	m, err := openPrivatePools(c, "MaxDriverCalls")
	if err != nil {
		return nil, err
	}
	p := &PoolFaults{PrivatePools: m}
	p.faults, err = addFaults(c, m.CachingAllocator)
	return p, err
}

// Next implements explore.Specification.
func (p *PoolFaults) Next(s *model.State, yield func(label int, next *model.State)) {
	p.PrivatePools.Next(s, yield)
	p.faults.next(s, yield)
}

// fairness implements Module.
func (p *PoolFaults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "FaultSpec"
}

// CaptureFaults is CaptureFaults.tla: PoolFaults with the question whether a stream is captured,
// which a malloc asks.
type CaptureFaults struct{ *PoolFaults }

func openCaptureFaults(c *tlc.Config) (Module, error) {
	m, err := openPoolFaults(c)
	if err != nil {
		return nil, err
	}
	p := &CaptureFaults{m.(*PoolFaults)}
	p.asks = true
	return p, nil
}

// Text implements Module. tla/CaptureFaults.tla explains the variable.
func (c *CaptureFaults) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	c.variables(w)
	w.poolVariables()
	w.variable("capturedPools", func() {
		var known []int
		for _, p := range s.Pools {
			if p.Captured {
				known = append(known, poolNumber(p.ID))
			}
		}
		w.Set(len(known), func(i int) { w.Int(known[i]) })
	})
	return w.finish(to)
}

func (c *CaptureFaults) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	if name != "CapturedPoolsAreKnown" {
		return c.PoolFaults.property(name, fair, to)
	}
	holdsOfStates(to, name, capturedPoolsAreKnown)
	return true
}

func (c *CaptureFaults) always() []string {
	return append(c.PoolFaults.always(), "CapturedPoolsAreKnown")
}

// capturedPoolsAreKnown: the memory of a pool is that of captures that the allocator knows of.
func capturedPoolsAreKnown(s *model.State) bool {
	return !slices.ContainsFunc(s.Segments, func(g model.Segment) bool {
		return !g.Pool.IsDefault() && !slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.ID == g.Pool && p.Captured })
	})
}

// CheckpointFaults is CheckpointFaults.tla: Checkpoint with driver calls that fail.
type CheckpointFaults struct {
	*Checkpoint
	faults           faults
	failedCheckpoint action
}

func openCheckpointFaults(c *tlc.Config) (Module, error) {
	m, err := openCheckpoint(c, "MaxDriverCalls")
	if err != nil {
		return nil, err
	}
	p := &CheckpointFaults{Checkpoint: m}
	p.faults, err = addFaults(c, m.CachingAllocator)
	p.failedCheckpoint = m.add("FailedCheckpoint", asInts(m.ids), p.faults.failures)
	return p, err
}

// Next implements explore.Specification.
func (c *CheckpointFaults) Next(s *model.State, yield func(label int, next *model.State)) {
	c.Checkpoint.Next(s, yield)
	c.faults.next(s, yield)
	for i, number := range c.ids {
		if id := PoolID(number); useCount(s, id) > 0 && len(s.Routings) == 0 {
			interrupt(s, checkpointOf(id), func(n int, next *model.State) { yield(c.failedCheckpoint.label(i, n), next) })
		}
	}
}

// fairness implements Module.
func (c *CheckpointFaults) fairness(specification string) ([][]int, bool) {
	return nil, specification == "FaultSpec"
}
