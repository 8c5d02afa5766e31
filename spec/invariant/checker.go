package invariant

import (
	"fmt"

	"gaugeblock/spec"
)

// Checker checks what an Inspector shows of a device: invariants 1 to 6, 8 and 9
// (with statistics) and 10 to 12. It goes over the structures once, in place, and
// allocates nothing as long as all is well, so that it can run after every
// operation. It is not for use by several goroutines at once.
type Checker struct {
	geometry spec.Geometry
	visitor  spec.Visitor
	report   violationReport

	walk     blockWalk
	free     listCheck
	unmapped listCheck
	held     heldCheck
	pools    poolCheck
}

// NewChecker makes a checker for allocators of a geometry.
func NewChecker(g spec.Geometry) *Checker {
	c := &Checker{geometry: g}
	c.walk.marksKnown = true
	// The functions are made once: making them for every check would allocate.
	c.visitor = spec.Visitor{
		Block:        c.block,
		Free:         c.free.entry,
		Unmapped:     c.unmapped.entry,
		Pool:         c.pools.pool,
		PendingEvent: c.held.event,
		DeferredFree: c.held.deferral,
	}
	return c
}

// Check looks at a device; stats may be nil. The caller sees to it that the
// statistics are of the same moment. The error is the Inspector's, or that of a
// geometry that makes no sense.
func (c *Checker) Check(dev spec.Device, in spec.Inspector, stats *spec.DeviceStats) ([]Violation, error) {
	if err := c.geometry.Validate(); err != nil {
		return nil, fmt.Errorf("checker: %w", err)
	}
	c.report = violationReport{}
	if err := c.inspect(dev, in, stats, &c.report); err != nil {
		return nil, err
	}
	if stats != nil {
		f := statCheck{device: dev, report: &c.report}
		f.check(stats)
	}
	return c.report.list(), nil
}

// CheckInspector is Check for those who look only once.
func CheckInspector(dev spec.Device, in spec.Inspector, g spec.Geometry, stats *spec.DeviceStats) ([]Violation, error) {
	return NewChecker(g).Check(dev, in, stats)
}

// examineInspector checks what the observation's allocator shows of itself.
func examineInspector(o *Observation, r *violationReport) error {
	c := NewChecker(o.Geometry)
	for _, dev := range o.devices() {
		if err := c.inspect(dev, o.Inspector, o.statsOf(dev), r); err != nil {
			return err
		}
	}
	return nil
}

// inspect is the one pass. Only if the sums of two lists differ does it look again,
// to find out by which blocks.
func (c *Checker) inspect(dev spec.Device, in spec.Inspector, stats *spec.DeviceStats, r *violationReport) error {
	c.walk.start(c.geometry, dev, r)
	c.free.start(freeList, dev, r)
	c.unmapped.start(unmappedList, dev, r)
	c.held.start(dev, r)
	c.pools.start(dev, r)
	if err := in.Inspect(dev, c.visitor); err != nil {
		return fmt.Errorf("inspect device %d: %w", dev, err)
	}
	c.walk.finish()
	c.walk.compare(stats)
	c.pools.finish()
	for i := range c.walk.doubtful {
		if b := &c.walk.doubtful[i]; !c.pools.noSplit(b.Pool) {
			c.walk.reportTooLarge(b)
		}
	}
	if c.free.differs() || c.unmapped.differs() {
		if err := explainLists(in, dev, r); err != nil {
			return err
		}
	}
	if c.held.differs() {
		return explainHeld(in, dev, r)
	}
	return nil
}

// block shows one block to everything that wants to see it.
func (c *Checker) block(b *spec.BlockView) {
	free := c.walk.block(b)
	switch {
	case !b.Mapped:
		c.unmapped.block(b)
	case free:
		c.free.block(b)
	case b.EventCount > 0 || b.StreamUses > 0:
		c.held.block(b)
	}
	c.pools.block(b)
}
