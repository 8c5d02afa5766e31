package fakegpu

import (
	"slices"

	"github.com/tidwall/btree"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Who has used which bytes. Every access that a later one might have to wait for is
// remembered, for just the bytes that it touched: the address space is cut into
// patches, each of bytes that have been used alike.
//
// What keeps this small is that most accesses need not be remembered for long. An
// access is forgotten
//
//   - when every host thread knows that it is over: whatever comes, comes later;
//   - when the memory goes back to the driver;
//   - when it is superseded. Of an access u, a later one f that comes after u and
//     conflicts with all that u conflicts with (f writes, or u only reads) makes u
//     superfluous: whoever does not wait for u does not wait for f either, and it is
//     enough that f is found. But f is not looked for by accesses of f's own lifetime,
//     since those are no hazard to each other. So u goes when f is of the same lifetime
//     as u, or when there are two such f of two different lifetimes: one of them is of
//     another lifetime than whoever comes.
//
// So the number of patches is bounded by the number of different boundaries of
// ranges, and the number of uses of a patch by the streams that are not in order
// with each other, whatever the number of accesses. How an access is compared with those
// that are remembered is in accesses.go.

// uses are the patches by address. Bytes in no patch have not been used.
type uses struct {
	patches btree.Map[spec.Ptr, *patch]
	room    []*patch
	number  uint64 // of the latest access
	since   int    // accesses since the last sweep
	size    int    // what the last sweep had to look at
	vain    bool   // it has found nothing to forget
}

// patch is a stretch of bytes that have been used alike. Its accesses are in groups by
// lifetime, each list in the order in which the lifetimes began.
type patch struct {
	spec.Range
	reads, writes []accesses
}

// footprint is an access: what a piece of work does to some bytes in one lifetime.
type footprint struct {
	spec.Range
	happensbefore.Epoch
	// of the work, if it is to be compared with earlier accesses again; or nil
	clock    *happensbefore.Clock
	number   uint64 // in the order in which accesses were made
	act      *act
	lifetime *Lifetime
	node     *node
	write    bool
}

// act is a piece of work, or a node of a graph at one launch.
type act struct {
	work   uint64
	name   string
	device spec.Device
	stream spec.Stream
	line   int    // of a log
	both   access // devices whose Free waits for the work: see release.go
	kind   workKind
	graph  bool
	host   bool // it is a host thread's
	ends   bool // it frees the memory: of its own lifetime, too, it has to come last

	first footprint // its first access, since most work has no other
}

// footprint is room for an access of the work.
func (a *act) footprint() *footprint {
	if a.first.act == nil {
		return &a.first
	}
	return new(footprint)
}

// over gives the patches that make up a range, in order; those that are missing are
// made. The list is good until the next call.
func (u *uses) over(r spec.Range) []*patch {
	list := u.room[:0]
	if p, found := u.patches.Get(r.Ptr); found && p.Bytes == r.Bytes {
		u.room = append(list, p)
		return u.room
	}
	list = u.within(r, list)
	at := r.Ptr
	for i := 0; at < r.End(); i++ {
		if i == len(list) || list[i].Ptr > at {
			end := r.End()
			if i < len(list) {
				end = list[i].Ptr
			}
			gap := &patch{Range: spec.Range{Ptr: at, Bytes: uint64(end - at)}}
			u.patches.Set(at, gap)
			list = slices.Insert(list, i, gap)
		}
		at = list[i].End()
	}
	u.room = list
	return list
}

// within adds the patches of a range to a list, cut at its ends.
func (u *uses) within(r spec.Range, list []*patch) []*patch {
	u.cut(r.Ptr)
	u.cut(r.End())
	u.patches.Ascend(r.Ptr, func(_ spec.Ptr, p *patch) bool {
		if p.Ptr >= r.End() {
			return false
		}
		list = append(list, p)
		return true
	})
	return list
}

// cut makes a patch that crosses an address into two.
func (u *uses) cut(at spec.Ptr) {
	var crossing *patch
	u.patches.Descend(at, func(_ spec.Ptr, p *patch) bool {
		if p.Ptr < at && at < p.End() {
			crossing = p
		}
		return false
	})
	if crossing == nil {
		return
	}
	rest := &patch{
		Range: spec.Range{Ptr: at, Bytes: uint64(crossing.End() - at)},
		reads: cloneAccesses(crossing.reads), writes: cloneAccesses(crossing.writes),
	}
	crossing.Bytes -= rest.Bytes
	u.patches.Set(at, rest)
}

// merge makes neighbours that have been used alike into one patch. The list is of
// patches by address.
func (u *uses) merge(list []*patch) {
	last := 0
	for i := 1; i < len(list); i++ {
		p, before := list[i], list[last]
		if before.End() == p.Ptr && before.usedLike(p) {
			before.Bytes += p.Bytes
			u.patches.Delete(p.Ptr)
		} else {
			last = i
		}
	}
}

// latest finds the last access to the first byte of a range, nil if there is none.
func (u *uses) latest(r spec.Range) *footprint {
	var found *footprint
	u.patches.Descend(r.Ptr, func(_ spec.Ptr, p *patch) bool {
		if r.Ptr < p.End() {
			p.each(func(f *footprint) {
				if found == nil || found.number < f.number {
					found = f
				}
			})
		}
		return false
	})
	return found
}

// forget removes the patches of a range, and visits the accesses in them; one that
// is in several patches is visited for each.
func (u *uses) forget(r spec.Range, visit func(*footprint)) {
	for _, p := range u.within(r, nil) {
		p.pruneAll()
		p.each(visit)
		u.patches.Delete(p.Ptr)
	}
}

// sweepDue counts an access, and reports whether enough have been made since the
// last sweep that another one costs little.
func (u *uses) sweepDue() bool {
	u.since++
	due := 8 + 2*u.patches.Len() + u.size/4
	if u.vain {
		due *= 8
	}
	return u.since > due
}

// sweep forgets the accesses that are known to be over, and what is left of
// patches without any. It says of which lanes work is still remembered.
func (u *uses) sweep(o *happensbefore.Order) {
	remembered := make([]bool, o.Lanes())
	u.since, u.size = 0, len(remembered)/8
	all := u.patches.Values()
	patches, gone := len(all), 0
	kept := all[:0]
	for _, p := range all {
		left := 0
		for _, list := range [...]*[]accesses{&p.reads, &p.writes} {
			var over int
			*list, over = sweep(*list, o)
			gone += over
			for i := range *list {
				(*list)[i].remember(remembered)
				left += len((*list)[i].uses)
			}
		}
		if left == 0 {
			u.patches.Delete(p.Ptr)
			continue
		}
		u.size += left - 1
		kept = append(kept, p)
	}
	u.merge(kept)
	u.vain = gone == 0 && u.patches.Len() == patches
	o.ForgetLanes(remembered)
}

// sweep is a list without the accesses that are known to be over, and how many those are.
func sweep(list []accesses, o *happensbefore.Order) (_ []accesses, over int) {
	kept := 0
	for i := range list {
		g := &list[i]
		before := len(g.uses)
		g.uses = slices.DeleteFunc(g.uses, func(by use) bool { return o.SeenByAll(by.Epoch) })
		if over += before - len(g.uses); len(g.uses) == 0 {
			continue
		}
		if kept < i {
			list[kept], list[i] = list[i], list[kept]
		}
		kept++
	}
	return truncate(list, kept), over
}

// oldest is, for each lane, the position of its oldest access that is remembered, 0
// if there is none, and how many accesses are.
func (u *uses) oldest(lanes int) (oldest []happensbefore.Position, remembered int) {
	oldest = make([]happensbefore.Position, lanes)
	meet := func(e happensbefore.Epoch) {
		if at := &oldest[e.Lane]; e.Position > 0 && (*at == 0 || e.Position < *at) {
			*at = e.Position
		}
	}
	u.patches.Scan(func(_ spec.Ptr, p *patch) bool {
		for _, list := range [...][]accesses{p.reads, p.writes} {
			for i := range list {
				g := &list[i]
				remembered += len(g.uses)
				if g.learned != nil {
					meet(g.learned.behind)
				}
				for _, u := range g.uses {
					meet(u.Epoch)
				}
			}
		}
		return true
	})
	return oldest, remembered
}
