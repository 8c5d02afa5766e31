package fakegpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// TestGroupThatGrows: what is known of the accesses of a lifetime does not hold for one
// that comes later, as that of a graph whose memory was reused meanwhile.
func TestGroupThatGrows(t *testing.T) {
	d := &detector{order: happensbefore.New()}
	p := &patch{Range: spec.Range{Ptr: 0x1000, Bytes: 512}}
	lane := func(s spec.Stream) *happensbefore.Lane { return d.order.NewLane(spec.DeviceStream{Stream: s}) }
	a, b, c := lane(1), lane(2), lane(3)
	first, second := &Lifetime{Number: 1, Range: p.Range}, &Lifetime{Number: 2, Range: p.Range}
	write := func(l *happensbefore.Lane, life *Lifetime) int {
		m := moment{Moment: d.order.Submit(l)}
		d.uses.number++
		d.meet(p, &m, &footprint{
			Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: true, lifetime: life,
			act: &act{work: d.uses.number, kind: workKernel, stream: l.Stream().Stream},
		})
		return len(d.found)
	}
	write(a, first)
	d.order.Wait(b, a.Clock())
	if n := write(b, second); n != 0 {
		t.Fatalf("%d hazards between accesses in order: %v", n, d.found)
	}
	if n := write(c, first); n != 1 {
		t.Fatalf("%d hazards, want that of c and b: %v", n, d.found)
	}
	if n := write(b, second); n != 2 {
		t.Fatalf("%d hazards, want that of b and c as well: %v", n, d.found)
	}
}

// TestManyReaders: an access supersedes all that it comes after, also behind others that it does
// not come after and that are more than are looked at when it is added.
func TestManyReaders(t *testing.T) {
	for _, writes := range []bool{false, true} {
		d := &detector{order: happensbefore.New()}
		p := &patch{Range: spec.Range{Ptr: 0x1000, Bytes: 512}}
		lifetime := &Lifetime{Number: 1, Range: p.Range}
		const apart = few + 1
		var lanes []*happensbefore.Lane
		for i := range 10 * few {
			lanes = append(lanes, d.order.NewLane(spec.DeviceStream{Stream: spec.Stream(i + 1)}))
		}
		use := func(l *happensbefore.Lane, write bool) {
			m := moment{Moment: d.order.Submit(l)}
			d.uses.number++
			d.meet(p, &m, &footprint{Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: write, lifetime: lifetime, act: &act{}})
		}
		for range 100 {
			for _, l := range lanes[1:] {
				d.order.Wait(l, lanes[0].Clock())
				use(l, false)
			}
			for _, l := range lanes[1 : len(lanes)-apart] {
				d.order.Wait(lanes[0], l.Clock())
			}
			use(lanes[0], writes)
		}
		// The next owner is told of these alone.
		m := moment{Moment: d.order.Submit(d.order.NewLane(spec.DeviceStream{Stream: 1000}))}
		d.uses.number++
		d.meet(p, &m, &footprint{
			Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: true, lifetime: &Lifetime{Number: 2, Range: p.Range}, act: &act{},
		})
		if len(d.unordered) != 1+apart {
			t.Errorf("writes %v: the next owner is told of %d accesses, want the latest of each of %d lanes", writes, len(d.unordered), 1+apart)
		}
		left := 0
		p.each(func(f *footprint) {
			if f.lifetime == lifetime {
				left++
			}
		})
		if left != 1+apart {
			t.Errorf("writes %v: %d accesses are left, want the latest of each of %d lanes", writes, left, 1+apart)
		}
	}
}

// met is an access that a patch has met, for comparison with what the patch remembers.
type met struct {
	*footprint
	gone  bool        // a later access of its own lifetime supersedes it
	after []*Lifetime // other lifetimes of which a write comes after it
}

// supersededBy reports whether it comes before a later access which conflicts with all that it
// conflicts with.
func (a *met) supersededBy(f *footprint, clock happensbefore.Clock) bool {
	return clock.Covers(a.Epoch) && (f.write || !a.write)
}

// TestAccessesAgainstReference compares what a patch tells of accesses at random, and what it
// remembers, with a list of all of them. Each access that is not in order with earlier ones of
// other lifetimes is told of one of these at least, and of none that is superseded. What is
// superseded within its lifetime, or by writes of two others, is forgotten.
func TestAccessesAgainstReference(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(16, seed))
		d := &detector{order: happensbefore.New()}
		p := &patch{Range: spec.Range{Ptr: 0x1000, Bytes: 512}}
		var lanes []*happensbefore.Lane
		for i := range 2 + random.IntN(5*few) {
			lanes = append(lanes, d.order.NewLane(spec.DeviceStream{Stream: spec.Stream(i + 1)}))
		}
		lifetimes := []*Lifetime{{Number: 1, Range: p.Range}, {Number: 2, Range: p.Range}, {Number: 3, Range: p.Range}}
		current := 0
		writes := 1 + random.IntN(10)
		var all []*met
		for step := range 10 + random.IntN(80) {
			lane := lanes[random.IntN(len(lanes))]
			switch random.IntN(6) {
			case 0, 1:
				d.order.Wait(lane, lanes[random.IntN(len(lanes))].Clock())
				continue
			case 2: // also an earlier one, as when a graph is launched
				current = random.IntN(len(lifetimes))
			case 3:
				if random.IntN(3) == 0 {
					for _, other := range lanes {
						d.order.Wait(lane, other.Clock())
					}
				}
			}
			m := moment{Moment: d.order.Submit(lane)}
			d.uses.number++
			f := &footprint{
				Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: random.IntN(10) < writes,
				lifetime: lifetimes[current], act: &act{work: d.uses.number},
			}
			unordered, superseded := 0, 0
			for _, a := range all {
				if a.lifetime != f.lifetime && (a.write || f.write) && !m.Clock.Covers(a.Epoch) {
					unordered++
					if a.gone || len(a.after) > 1 {
						superseded++
					}
				}
			}
			d.meet(p, &m, f)
			checkTold(t, d.unordered, all, f, m.Clock)
			if (unordered > superseded) != (len(d.unordered) > 0) {
				t.Fatalf("seed %d, step %d: told of %d accesses, want some of %d, %d of which are superseded", seed, step, len(d.unordered), unordered, superseded)
			}
			for _, a := range all {
				switch {
				case !a.supersededBy(f, m.Clock):
				case a.lifetime == f.lifetime:
					a.gone = true
				case f.write && !slices.Contains(a.after, f.lifetime):
					a.after = append(a.after, f.lifetime)
				}
			}
			all = append(all, &met{footprint: f})
		}
		checkRemembered(t, p, all)
	}
}

// checkTold: what is told is true, and not superseded.
func checkTold(t *testing.T, told []*footprint, all []*met, f *footprint, clock happensbefore.Clock) {
	t.Helper()
	for _, first := range told {
		i := slices.IndexFunc(all, func(a *met) bool { return a.footprint == first })
		a := all[i]
		if a.lifetime == f.lifetime || !a.write && !f.write || clock.Covers(a.Epoch) {
			t.Fatalf("access %d is told of access %d, with which it is in order", f.number, first.number)
		}
		if a.gone || len(a.after) > 1 {
			t.Fatalf("access %d is told of access %d, which is superseded", f.number, first.number)
		}
	}
}

// checkRemembered: what is superseded is forgotten.
func checkRemembered(t *testing.T, p *patch, all []*met) {
	t.Helper()
	p.pruneAll()
	remembered := map[*footprint]bool{}
	p.each(func(f *footprint) { remembered[f] = true })
	for _, a := range all {
		if superseded := a.gone || len(a.after) > 1; superseded && remembered[a.footprint] {
			t.Errorf("access %d is remembered, and superseded (in its lifetime %v, by writes of %d others)", a.number, a.gone, len(a.after))
		}
	}
}

// TestSweepForgets: what every thread has seen to be over is forgotten, with the patches that have
// nothing else, and patches that are alike then are one.
func TestSweepForgets(t *testing.T) {
	d := &detector{order: happensbefore.New()}
	use := func(l *happensbefore.Lane, r spec.Range) {
		m := moment{Moment: d.order.Submit(l)}
		d.use(&m, &act{}, claim{Range: r, write: true, lifetime: unmanaged})
	}
	patches := func() (ranges []spec.Range) {
		for _, p := range d.uses.patches.Values() {
			ranges = append(ranges, p.Range)
		}
		return ranges
	}
	a, b := d.order.NewLane(spec.DeviceStream{Stream: 1}), d.order.NewLane(spec.DeviceStream{Stream: 2})
	use(b, spec.Range{Ptr: 0x1100, Bytes: 0x300})
	use(a, spec.Range{Ptr: 0x1000, Bytes: 0x200})
	use(a, spec.Range{Ptr: 0x1200, Bytes: 0x100})
	if got := patches(); len(got) != 4 {
		t.Fatalf("before: %v", got)
	}
	d.order.See(a.Clock())
	d.uses.sweep(d.order)
	if got := patches(); !slices.Equal(got, []spec.Range{{Ptr: 0x1100, Bytes: 0x300}}) {
		t.Errorf("when the work of one stream is over, %v are remembered, want what the other one has used, in one", got)
	}
	d.order.See(b.Clock())
	d.uses.sweep(d.order)
	if got := patches(); len(got) > 0 || d.uses.size > 0 {
		t.Errorf("when all is over, %v are remembered", got)
	}
}

// TestSweepKeepsTheRest: of the accesses of several lifetimes just those are forgotten that are
// over, whichever they are.
func TestSweepKeepsTheRest(t *testing.T) {
	for over := range 1 << 4 {
		d := &detector{order: happensbefore.New()}
		p := spec.Range{Ptr: 0x1000, Bytes: 512}
		var lanes []*happensbefore.Lane
		for i := range 4 {
			lanes = append(lanes, d.order.NewLane(spec.DeviceStream{Stream: spec.Stream(i + 1)}))
			m := moment{Moment: d.order.Submit(lanes[i])}
			d.use(&m, &act{}, claim{Range: p, write: true, lifetime: &Lifetime{Number: uint64(i + 1), Range: p}})
		}
		var want, got []uint64
		for i, l := range lanes {
			if over&(1<<i) != 0 {
				d.order.See(l.Clock())
			} else {
				want = append(want, uint64(i+1))
			}
		}
		d.uses.sweep(d.order)
		for _, p := range d.uses.patches.Values() {
			p.each(func(f *footprint) { got = append(got, f.lifetime.Number) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("accesses of lifetimes %v are remembered, want %v", got, want)
		}
	}
}

// TestLanesOfRemembered: the number of a stream that was destroyed does not serve another stream
// while work of it is remembered, or while accesses are known to come before such work. (Else the
// other stream's work would count as coming after it.)
func TestLanesOfRemembered(t *testing.T) {
	d := &detector{order: happensbefore.New()}
	p := spec.Range{Ptr: 0x1000, Bytes: 512}
	lane := func(s spec.Stream) *happensbefore.Lane { return d.order.NewLane(spec.DeviceStream{Stream: s}) }
	write := func(l *happensbefore.Lane, life *Lifetime) {
		m := moment{Moment: d.order.Submit(l)}
		d.use(&m, &act{work: d.uses.number}, claim{Range: p, write: true, lifetime: life})
	}
	lifetimes := []*Lifetime{{Number: 1, Range: p}, {Number: 2, Range: p}, {Number: 3, Range: p}}
	var others []*happensbefore.Lane
	for i := range 2 * few {
		others = append(others, lane(spec.Stream(i+1)))
		write(others[i], lifetimes[0])
	}
	// The second owner comes after all of these, which is known of its work; later work of its own
	// comes after that.
	second := lane(100)
	for _, l := range others {
		d.order.Wait(second, l.Clock())
	}
	write(second, lifetimes[1])
	next := lane(101)
	d.order.Wait(next, second.Clock())
	write(next, lifetimes[1])
	if len(d.found) > 0 {
		t.Fatalf("hazards between what is in order: %v", d.found)
	}
	d.order.Retire(second)
	d.order.Retire(next)
	d.uses.sweep(d.order)
	write(lane(102), lifetimes[2])
	if want := 2*few + 1; len(d.found) != want {
		t.Errorf("work of a new stream is not in order with %d earlier ones, want %d: %v", len(d.found), want, d.found)
	}
}

// TestGroupsInOneArray: groups stay in order, each with its own accesses, though they lie in the
// room of those that are gone.
func TestGroupsInOneArray(t *testing.T) {
	var lifetimes []*Lifetime
	for i := range 6 {
		lifetimes = append(lifetimes, &Lifetime{Number: uint64(i + 1)})
	}
	var list []accesses
	for round, order := range [][]int{{1, 3, 0, 2}, {5, 4, 0}, {2, 5, 3, 4, 1}} {
		for _, i := range order {
			at, found := find(list, lifetimes[i])
			if found {
				t.Fatalf("round %d: lifetime %d has accesses already", round, i+1)
			}
			list = insert(list, at, lifetimes[i])
			g := &list[at]
			if g.lifetime != lifetimes[i] || len(g.uses) != 0 || g.over != nil || g.learned != nil || g.mixed || g.pruned != 0 {
				t.Fatalf("round %d: the accesses of lifetime %d begin with %+v", round, i+1, *g)
			}
			g.uses = append(g.uses, use{footprint: &footprint{number: uint64(i)}})
			g.over, g.mixed, g.pruned, g.learned = lifetimes[0], true, 1, &learned{}
		}
		if len(list) != len(order) {
			t.Fatalf("round %d: %d groups, want %d", round, len(list), len(order))
		}
		for _, i := range order {
			if g := of(list, lifetimes[i]); g == nil || len(g.uses) != 1 || g.uses[0].number != uint64(i) {
				t.Errorf("round %d: the accesses of lifetime %d are %+v", round, i+1, g)
			}
		}
		list = truncate(list, 0)
	}
}

// TestEqualPatchesMerge: patches beside each other that were used alike become one.
func TestEqualPatchesMerge(t *testing.T) {
	u := &uses{}
	var list []*patch
	for _, at := range []spec.Ptr{0x100, 0x200, 0x300, 0x500, 0x600} {
		p := &patch{Range: spec.Range{Ptr: at, Bytes: 0x100}}
		u.patches.Set(at, p)
		list = append(list, p)
	}
	u.merge(list)
	all := u.patches.Values()
	if len(all) != 2 || all[0].Range != (spec.Range{Ptr: 0x100, Bytes: 0x300}) || all[1].Range != (spec.Range{Ptr: 0x500, Bytes: 0x200}) {
		t.Errorf("%d patches: %v", len(all), all)
	}
}
