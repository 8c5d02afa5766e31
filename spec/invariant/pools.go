package invariant

import (
	"slices"

	"gaugeblock/spec"
)

// poolCheck is invariant 12: a block of a pool that nobody knows can neither be
// allocated nor returned, and a pool that is freeable while it is used loses its
// memory under its user's hands.
type poolCheck struct {
	device spec.Device
	report *violationReport

	known []spec.PoolView
	seen  []poolBlock // the first block of each private pool that was met
}

// poolBlock is a block that shows that a pool has memory.
type poolBlock struct {
	pool  spec.PoolID
	block spec.Ptr
	size  uint64
}

func (p *poolCheck) start(dev spec.Device, r *violationReport) {
	*p = poolCheck{device: dev, report: r, known: p.known[:0], seen: p.seen[:0]}
}

// pool is a pool that the allocator knows.
func (p *poolCheck) pool(v *spec.PoolView) {
	if v.ID.IsDefault() {
		return
	}
	p.known = append(p.known, *v)
	if v.Freeable != (v.UseCount == 0) {
		p.report.add(poolsOwnTheirBlocks, p.device, 0,
			"pool %v has a use count of %d and is %s", v.ID, v.UseCount, freeableName(v.Freeable))
	}
}

func freeableName(freeable bool) string {
	if freeable {
		return "freeable"
	}
	return "not freeable"
}

// block remembers the pool of a block.
func (p *poolCheck) block(b *spec.BlockView) {
	if b.Pool.IsDefault() {
		return
	}
	for i := len(p.seen) - 1; i >= 0; i-- {
		if p.seen[i].pool == b.Pool {
			return
		}
	}
	p.seen = append(p.seen, poolBlock{b.Pool, b.Address, b.Size})
}

// finish looks whether all are known.
func (p *poolCheck) finish() {
	for _, s := range p.seen {
		if !slices.ContainsFunc(p.known, func(v spec.PoolView) bool { return v.ID == s.pool }) {
			p.report.add(poolsOwnTheirBlocks, p.device, s.block,
				"block %v (%d bytes) belongs to pool %v, which does not exist", s.block, s.size, s.pool)
		}
	}
}

// noSplit reports whether a pool is marked not to split its blocks.
func (p *poolCheck) noSplit(id spec.PoolID) bool {
	return slices.ContainsFunc(p.known, func(v spec.PoolView) bool { return v.ID == id && v.NoSplit })
}
