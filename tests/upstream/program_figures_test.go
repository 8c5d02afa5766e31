package upstream

import (
	"slices"

	"gaugeblock/spec"
)

// What a program asks of the allocator beside memory: settings, figures, pictures.

func (p *program) configure(settings string) {
	p.t.Helper()
	p.must(p.allocator.Configure(settings))
}

func (p *program) emptyCache() {
	p.t.Helper()
	p.must(p.allocator.EmptyCache())
}

// stat is a figure by the key that torch.cuda.memory_stats has for it.
func (p *program) stat(key string) int64 {
	p.t.Helper()
	return p.stats()[key]
}

func (p *program) stats() map[string]int64 {
	p.t.Helper()
	stats, err := p.allocator.Stats(p.device)
	p.must(err)
	return stats.Map()
}

// limit bounds the bytes of the device that the program holds.
func (p *program) limit(bytes uint64) {
	p.t.Helper()
	_, total, err := p.gpu.MemInfo(p.device)
	p.must(err)
	p.must(p.allocator.SetMemoryFraction(p.device, (float64(bytes)+0.5)/float64(total)))
}

func (p *program) snapshot() spec.Snapshot {
	p.t.Helper()
	s, err := p.allocator.Snapshot()
	p.must(err)
	return s
}

// segments are those of a pool, by address.
func (p *program) segments(pool spec.PoolID) []spec.Segment {
	p.t.Helper()
	return slices.DeleteFunc(p.snapshot().Segments, func(g spec.Segment) bool { return g.Pool != pool })
}

// blocks are those of the segments, in order.
func blocks(segments []spec.Segment) (list []spec.Block) {
	for _, g := range segments {
		list = append(list, g.Blocks...)
	}
	return list
}
