package invariant

import (
	"cmp"
	"math/bits"
	"slices"

	"gaugeblock/spec"
)

// Invariant 10: the lists that an allocator searches hold what they should. A free
// block that is on no list is lost until its segment is; a block on the list that
// is in use is allocated twice.
//
// Whether two sets are equal can be told in one pass without keeping either: each
// block is turned into a number that depends on all that identifies it, and the
// numbers of both sets are added up. Sums that are equal by chance are as good as
// impossible (1 in 2^64); sums that differ are a reason to look again and compare
// block by block.

// blockList is a kind of list.
type blockList struct {
	name    string // of the list, for messages
	content string // the state of what belongs there
	bySize  bool   // whether size, and BlockView.Order, come before address in its order
}

var (
	freeList     = &blockList{"free list", spec.Inactive.String(), true}
	unmappedList = &blockList{"list of unmapped ranges", "unmapped", false}
)

// listPlace is what decides where a block stands. An Inspector shows lists by
// pool, the small pool before the large one, so that all lists of a kind are one.
type listPlace struct {
	pool    spec.PoolID
	kind    spec.PoolKind
	stream  spec.Stream
	size    uint64
	order   uint64
	address spec.Ptr
}

// before reports whether a block stands behind the place.
func (k *listPlace) before(b *spec.BlockView, bySize bool) bool {
	switch {
	case k.pool.Capture != b.Pool.Capture:
		return k.pool.Capture < b.Pool.Capture
	case k.pool.User != b.Pool.User:
		return k.pool.User < b.Pool.User
	case k.kind != b.PoolKind:
		return k.kind < b.PoolKind
	case k.stream != b.Stream:
		return k.stream < b.Stream
	case bySize && k.size != b.Size:
		return k.size < b.Size
	case bySize && k.order != b.Order:
		return k.order < b.Order
	}
	return k.address < b.Address
}

// listCheck holds the lists of one kind against the blocks.
type listCheck struct {
	kind   *blockList
	device spec.Device
	report *violationReport

	blocks, entries blockSum
	last            listPlace // of the entry before
}

// blockSum stands for a set of blocks.
type blockSum struct {
	count int
	sum   uint64
}

func (s *blockSum) add(b *spec.BlockView) {
	s.count++
	s.sum += fingerprint(b)
}

// fingerprint is a number that two different blocks do not share by any accident
// that matters: what identifies them, mixed as hash functions do.
func fingerprint(b *spec.BlockView) uint64 {
	owner := uint64(b.Stream) + b.Pool.Capture<<40 + b.Pool.User<<20
	if b.PoolKind == spec.LargePool {
		owner = ^owner
	}
	return mix(mix(uint64(b.Address), b.Size), owner)
}

// mix makes one number of two, in which every bit of both has a part.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return high ^ low
}

func (l *listCheck) start(kind *blockList, dev spec.Device, r *violationReport) {
	*l = listCheck{kind: kind, device: dev, report: r}
}

// block is a block that belongs on the list.
func (l *listCheck) block(b *spec.BlockView) { l.blocks.add(b) }

// entry is the list's next block.
func (l *listCheck) entry(b *spec.BlockView) {
	k := &l.last
	if l.entries.count > 0 && !k.before(b, l.kind.bySize) {
		l.report.add(freeListsHoldFreeBlocks, l.device, b.Address,
			"the %s has block %v (%d bytes) behind block %v (%d bytes), out of order",
			l.kind.name, b.Address, b.Size, k.address, k.size)
	}
	k.pool, k.kind, k.stream = b.Pool, b.PoolKind, b.Stream
	k.size, k.order, k.address = b.Size, b.Order, b.Address
	l.entries.add(b)
}

// differs reports whether the list holds something else than it should.
func (l *listCheck) differs() bool { return l.blocks != l.entries }

// explainLists compares the lists with the blocks one by one.
func explainLists(in spec.Inspector, dev spec.Device, r *violationReport) error {
	var blocks, free, unmapped []spec.BlockView
	into := func(list *[]spec.BlockView) func(*spec.BlockView) {
		return func(b *spec.BlockView) { *list = append(*list, *b) }
	}
	v := spec.Visitor{Block: into(&blocks), Free: into(&free), Unmapped: into(&unmapped)}
	if err := in.Inspect(dev, v); err != nil {
		return err
	}
	byAddress := func(a, b spec.BlockView) int { return cmp.Compare(a.Address, b.Address) }
	slices.SortStableFunc(blocks, byAddress)
	slices.SortStableFunc(free, byAddress)
	slices.SortStableFunc(unmapped, byAddress)
	(&listExplainer{freeList, dev, r}).explain(blocks, free)
	(&listExplainer{unmappedList, dev, r}).explain(blocks, unmapped)
	return nil
}

// listExplainer says what is wrong with the lists of a kind.
type listExplainer struct {
	kind   *blockList
	device spec.Device
	report *violationReport
}

func (x *listExplainer) fail(at spec.Ptr, format string, args ...any) {
	x.report.add(freeListsHoldFreeBlocks, x.device, at, format, args...)
}

// explain goes over all blocks and all entries, both by address.
func (x *listExplainer) explain(blocks, entries []spec.BlockView) {
	for i := range blocks {
		b := &blocks[i]
		n := 0
		for n < len(entries) && entries[n].Address < b.Address {
			n++
		}
		x.strays(entries[:n])
		entries = entries[n:]
		for n = 0; n < len(entries) && entries[n].Address == b.Address; {
			n++
		}
		x.block(b, entries[:n])
		entries = entries[n:]
	}
	x.strays(entries)
}

// strays are entries for which there is no block.
func (x *listExplainer) strays(entries []spec.BlockView) {
	for i := range entries {
		e := &entries[i]
		x.fail(e.Address, "the %s holds %v (%d bytes), where no block begins", x.kind.name, e.Address, e.Size)
	}
}

// block compares a block with the entries of its address.
func (x *listExplainer) block(b *spec.BlockView, entries []spec.BlockView) {
	state := b.State().String()
	if !b.Mapped {
		state = "unmapped"
	}
	belongs := state == x.kind.content
	switch {
	case belongs && len(entries) == 0:
		x.fail(b.Address, "block %v (%d bytes) is %s, but not on the %s", b.Address, b.Size, state, x.kind.name)
	case !belongs && len(entries) > 0:
		x.fail(b.Address, "the %s holds block %v (%d bytes), which is %s", x.kind.name, b.Address, b.Size, state)
	case len(entries) > 1:
		x.fail(b.Address, "block %v (%d bytes) is on the %s %d times", b.Address, b.Size, x.kind.name, len(entries))
	case belongs && fingerprint(&entries[0]) != fingerprint(b):
		e := &entries[0]
		x.fail(b.Address, "the %s holds block %v with %d bytes for stream %v, but it has %d bytes for stream %v",
			x.kind.name, e.Address, e.Size, e.Stream, b.Size, b.Stream)
	}
}
