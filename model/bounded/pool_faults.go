package bounded

import (
	"gaugeblock/model"
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
