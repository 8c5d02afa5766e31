package fakegpu

import (
	"cmp"
	"slices"

	"gaugeblock/spec/happensbefore"
)

// The accesses to a patch, and how a new one is compared with them. The rules are in
// detector.go and uses.go. What is here keeps the cost of an access the same when many
// thousand streams have used a patch:
//
//   - a read is compared with writes only;
//   - accesses of the new one's own lifetime are not looked at, beside the latest
//     few. Which of them are superseded is found out when their number has doubled, or
//     when an access of another lifetime comes;
//   - of a group that is known to come before something, whatever comes after that
//     something comes after the group.

// accesses are those of one lifetime to a patch that read, or those that write. A patch has a
// list of them in one array, whose unused end keeps the room of groups that are gone.
type accesses struct {
	lifetime *Lifetime
	uses     []use // oldest first
	over     *Lifetime
	learned  *learned // nil: nothing
	pruned   int32    // how many there were when the superseded ones were removed
	mixed    bool     // the uses have an over each; otherwise they all have the group's
}

// learned is what all uses of a group are known to come before: this work, and whatever covers
// these clocks, if that is not the zero clock.
type learned struct {
	behind happensbefore.Epoch
	others happensbefore.Clock
}

// use is an access that is remembered, with the lifetime of one that supersedes it for
// all other lifetimes, nil if there is none yet.
type use struct {
	*footprint
	over *Lifetime
}

// few is how many accesses are looked at where it is not worth while to look at all.
const few = 4

// find is the place of a lifetime's accesses in a list, or where they would be.
func find(list []accesses, l *Lifetime) (int, bool) {
	if n := len(list); n > 0 && list[n-1].lifetime == l {
		return n - 1, true
	}
	return slices.BinarySearchFunc(list, l, func(g accesses, l *Lifetime) int {
		return cmp.Compare(g.lifetime.Number, l.Number)
	})
}

// of is a lifetime's accesses in a list, nil if there are none. It is good until the list changes.
func of(list []accesses, l *Lifetime) *accesses {
	if i, found := find(list, l); found {
		return &list[i]
	}
	return nil
}

// insert makes room for a lifetime's accesses at a place of a list, in what a group that is gone
// has left if there is any.
func insert(list []accesses, at int, l *Lifetime) []accesses {
	n := len(list)
	switch {
	case list == nil:
		// most patches have those of the latest owner and the one before
		list = make([]accesses, 0, 2)
	case n == cap(list):
		list = append(list, accesses{})
	}
	list = list[:n+1]
	room := list[n].uses[:0]
	copy(list[at+1:], list[at:n])
	list[at] = accesses{lifetime: l, uses: room}
	return list
}

// truncate is the beginning of a list. The rest is of no use any more, beside its room.
func truncate(list []accesses, n int) []accesses {
	for i := n; i < len(list); i++ {
		g := &list[i]
		clear(g.uses)
		if *g = (accesses{uses: g.uses[:0]}); cap(g.uses) > few {
			g.uses = nil
		}
	}
	return list[:n]
}

// meet compares an access with the earlier ones of a patch, and remembers it.
func (d *detector) meet(p *patch, m *moment, second *footprint) {
	d.unordered = d.unordered[:0]
	p.writes = d.compare(p, p.writes, m, second, true)
	switch {
	case second.write:
		p.reads = d.compare(p, p.reads, m, second, true)
	case len(p.reads) <= few: // nothing to report, only to forget
		p.reads = d.compare(p, p.reads, m, second, false)
	}
	if len(d.unordered) > 1 {
		slices.SortFunc(d.unordered, func(a, b *footprint) int { return cmp.Compare(a.number, b.number) })
	}
	for _, first := range d.unordered {
		d.reportUnordered(first, second)
	}
	p.add(m, second)
}

// compare compares an access with the groups of a list, and returns what is left of
// them. Those that are not in order are added to d.unordered if they conflict.
func (d *detector) compare(p *patch, list []accesses, m *moment, second *footprint, conflict bool) []accesses {
	kept := 0
	for i := range list {
		g := &list[i]
		own := g.lifetime == second.lifetime
		switch {
		case own && !d.races && !second.act.ends:
		case !conflict && len(g.uses) > few:
		default:
			if len(g.uses) > int(g.pruned) {
				p.prune(g.lifetime)
			}
			supersedes := second.write || !conflict
			if !d.compareGroup(g, m, second, conflict, supersedes && !own) {
				continue
			}
		}
		if kept < i {
			list[kept], list[i] = list[i], list[kept]
		}
		kept++
	}
	return truncate(list, kept)
}

// compareGroup does so with one group, and reports whether anything is left of it.
func (d *detector) compareGroup(g *accesses, m *moment, second *footprint, conflict, supersedes bool) bool {
	if g.known(m) {
		return !supersedes || g.supersede(second.lifetime)
	}
	all := true
	for i := range g.uses {
		if first := g.uses[i].footprint; !m.after(first) {
			all = false
			if conflict {
				d.unordered = append(d.unordered, first)
			}
		}
	}
	switch {
	case all:
		g.learn(m)
		return !supersedes || g.supersede(second.lifetime)
	case supersedes:
		g.supersedeSome(m, second.lifetime)
	}
	return len(g.uses) > 0
}

// known reports whether all of a group is known to come before a moment.
func (g *accesses) known(m *moment) bool {
	l := g.learned
	return l != nil && (m.Clock.Covers(l.behind) || l.others != happensbefore.Clock{} && l.others == m.Clock.Others())
}

// learn: all of a group comes before a moment. Of a few accesses it is found out again, so
// that nobody has to keep the clock.
func (g *accesses) learn(m *moment) {
	if m.node != nil || g.few() {
		return
	}
	g.learned = &learned{behind: m.Epoch}
	others := m.Clock.Others()
	for i := range g.uses {
		if !others.Covers(g.uses[i].Epoch) {
			return
		}
	}
	g.learned.others = others
}

// supersede: an access of another lifetime comes after the whole group. It reports
// whether anything of the group is still needed.
func (g *accesses) supersede(by *Lifetime) bool {
	if g.mixed {
		g.uses = slices.DeleteFunc(g.uses, func(u use) bool { return u.over != nil && u.over != by })
		g.mixed, g.over = false, by
		return len(g.uses) > 0
	}
	if g.over != nil && g.over != by {
		return false
	}
	g.over = by
	return true
}

// mix gives each of the uses an over of its own.
func (g *accesses) mix() {
	if !g.mixed {
		for i := range g.uses {
			g.uses[i].over = g.over
		}
	}
	g.mixed, g.over = true, nil
}

// supersedeSome does so with those accesses that come before the moment.
func (g *accesses) supersedeSome(m *moment, by *Lifetime) {
	g.mix()
	g.uses = slices.DeleteFunc(g.uses, func(u use) bool {
		return m.after(u.footprint) && u.over != nil && u.over != by
	})
	for i := range g.uses {
		if m.after(g.uses[i].footprint) {
			g.uses[i].over = by
		}
	}
}

// add remembers an access, and forgets the latest ones that it supersedes. If these were
// all that it could supersede it is not compared with them again, and its clock is not kept.
func (p *patch) add(m *moment, f *footprint) {
	list := &p.reads
	reads, writes := of(p.reads, f.lifetime), of(p.writes, f.lifetime)
	if !reads.few() || f.write && !writes.few() {
		clock := m.Clock
		f.clock = &clock
	}
	if f.write {
		list = &p.writes
		writes.dropLatest(m)
	}
	reads.dropLatest(m)
	i, found := find(*list, f.lifetime)
	if !found {
		*list = insert(*list, i, f.lifetime)
	}
	g := &(*list)[i]
	if g.over != nil {
		g.mix()
	}
	g.uses = append(g.uses, use{footprint: f})
	g.learned = nil
	if len(g.uses) > 2*(int(g.pruned)+few) {
		p.prune(f.lifetime)
	}
}

// few reports whether dropLatest looks at all of the accesses.
func (g *accesses) few() bool { return g == nil || len(g.uses) <= few }

// dropLatest forgets those of the latest few accesses that come before the moment.
func (g *accesses) dropLatest(m *moment) {
	if g == nil {
		return
	}
	for i := len(g.uses) - 1; i >= max(0, len(g.uses)-few); i-- {
		if m.after(g.uses[i].footprint) {
			g.uses = slices.Delete(g.uses, i, i+1)
		}
	}
	g.pruned = min(g.pruned, int32(len(g.uses)))
}

// prune forgets the accesses of a lifetime that others of it supersede.
func (p *patch) prune(l *Lifetime) {
	reads, writes := of(p.reads, l), of(p.writes, l)
	var all []*footprint
	for _, g := range []*accesses{reads, writes} {
		if g != nil {
			for i := range g.uses {
				all = append(all, g.uses[i].footprint)
			}
		}
	}
	var gone map[*footprint]bool
	if slices.ContainsFunc(all, func(f *footprint) bool { return f.clock != nil }) {
		gone = superseded(all)
	}
	for _, g := range []*accesses{reads, writes} {
		if g != nil {
			g.uses = slices.DeleteFunc(g.uses, func(u use) bool { return gone[u.footprint] })
			g.pruned = int32(len(g.uses))
		}
	}
}

// superseded are those of the accesses of a lifetime to a patch that others of them supersede.
func superseded(all []*footprint) map[*footprint]bool {
	var later superseding
	gone := map[*footprint]bool{}
	slices.SortFunc(all, func(a, b *footprint) int { return cmp.Compare(b.number, a.number) })
	for len(all) > 0 {
		n := 1 // accesses of one piece of work
		for n < len(all) && all[n].Epoch == all[0].Epoch {
			n++
		}
		for i, f := range all[:n] {
			if later.has(f) || slices.ContainsFunc(all[:i], f.supersededWithin) {
				gone[f] = true
			}
		}
		for _, f := range all[:n] {
			later.add(f)
		}
		all = all[n:]
	}
	return gone
}

func (p *patch) pruneAll() {
	for _, list := range [...][]accesses{p.reads, p.writes} {
		for i := range list {
			if len(list[i].uses) > int(list[i].pruned) {
				p.prune(list[i].lifetime)
			}
		}
	}
}

// supersededWithin reports whether an access is superseded by a later one of the same
// piece of work. Nodes of a graph are in the order that the graph gives them.
func (f *footprint) supersededWithin(later *footprint) bool {
	if f.write && !later.write {
		return false
	}
	return f.node == nil || later.node == nil || later.node.comesAfter(f.node)
}

// superseding is what comes before some accesses, and before those of them that write.
type superseding struct {
	all, writes happensbefore.Clock
	same        happensbefore.Clock // the others of the latest one
	sameWrite   happensbefore.Clock // of the latest one that writes
}

func (s *superseding) add(f *footprint) {
	others := happensbefore.Clock{}
	if f.clock != nil {
		others = f.clock.Others()
	}
	if others != s.same {
		s.same = others
		s.all.Join(others)
	}
	s.all.Raise(f.Epoch)
	if f.write {
		if others != s.sameWrite {
			s.sameWrite = others
			s.writes.Join(others)
		}
		s.writes.Raise(f.Epoch)
	}
}

func (s *superseding) has(f *footprint) bool {
	return s.writes.Covers(f.Epoch) || !f.write && s.all.Covers(f.Epoch)
}

// each visits the accesses.
func (p *patch) each(visit func(*footprint)) {
	for _, list := range [...][]accesses{p.reads, p.writes} {
		for i := range list {
			for _, u := range list[i].uses {
				visit(u.footprint)
			}
		}
	}
}

// usedLike reports whether two patches have been used alike.
func (p *patch) usedLike(other *patch) bool {
	return sameAccesses(p.writes, other.writes) && sameAccesses(p.reads, other.reads)
}

func sameAccesses(a, b []accesses) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		a, b := &a[i], &b[i]
		if a.lifetime != b.lifetime || a.mixed != b.mixed || a.over != b.over || !slices.Equal(a.uses, b.uses) {
			return false
		}
	}
	return true
}

// cloneAccesses is a list that shares nothing that changes.
func cloneAccesses(list []accesses) []accesses {
	copies := slices.Clone(list)
	for i := range copies {
		copies[i].uses = slices.Clone(copies[i].uses)
	}
	return copies
}

// remember marks the lanes whose work is remembered.
func (g *accesses) remember(lanes []bool) {
	for i := range g.uses {
		lanes[g.uses[i].Lane] = true
	}
	if g.learned != nil {
		lanes[g.learned.behind.Lane] = true
	}
}
