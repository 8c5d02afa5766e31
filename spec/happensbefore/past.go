package happensbefore

import (
	"math"

	"gaugeblock/spec"
)

// A past is what a clock has heard of, where clocks are joined later (Order.JoinLater): not
// the positions themselves, but the two pasts that were joined, and the moment at which the
// second one was that of a lane.
//
//	lane 1, which has waited for lane 2 and then for lane 3:
//
//	    past ── heard (3, stamp) ── from ──> what lane 3 had heard of
//	      │
//	    before
//	      │
//	    past ── heard (2, stamp) ── from ──> what lane 2 had heard of
//
// A wait makes one past, however many lanes there are. Whether some work is covered is
// found by a search backwards, which is short where the program has made the lane wait for
// that work on purpose: the moment is among the latest ones. The search leaves out every
// past whose latest work is older than the one in question.
//
// A search may get long now and then (credit). If searches often do, and there is memory for it,
// the positions are joined after all (whole), once for each past. Those of old pasts are joined
// too, so that the pasts before them can be forgotten, but only for lanes whose old work somebody
// still remembers (Order.ForgetPasts).
type past struct {
	order *Order

	before *past // of the same clock; nil if it is whole
	heard  moment
	from   *past // of the lane that was heard of, then

	tree   *positions // all positions, if it is whole
	latest Position   // of all that it covers
	search uint64     // the latest search that came here; whole if it is whole
}

// whole is the search of a past that has all positions.
const whole = ^uint64(0)

// Variables for the tests' sake.
var (
	mostSteps  = 64 // of a search, if there is no credit
	credit     = 16 // steps that each search leaves for long ones
	mostCredit = 1 << 20
	// of a search for a moment that need not be found: if it is not, a past is made that could have
	// been spared
	fewSteps = 3

	mostJoined = 1 << 23 // positions that may be made to spare long searches

	fewPasts = 1 << 16 // are kept in any case
)

// newPast is what a clock has heard of after it has heard of a lane at a moment.
func (o *Order) newPast(before *past, heard moment, from *past) *past {
	p := &past{order: o, before: before, heard: heard, from: from, latest: heard.stamp.position()}
	if before != nil {
		p.latest = max(p.latest, before.latest)
	}
	if from != nil {
		p.latest = max(p.latest, from.latest)
	}
	o.young = append(o.young, p)
	return p
}

// covers reports whether work comes before.
func (p *past) covers(e Epoch) bool {
	o := p.order
	most := mostSteps + o.credit
	found, steps := p.find(moment{e.Lane, stampOf(e.Position)}, most)
	o.credit = min(o.credit+credit-max(0, min(steps-mostSteps, o.credit)), mostCredit)
	switch {
	case steps <= most:
		return found
	case len(o.lanes)*len(o.young) > mostJoined: // to join would take too much memory
		found, _ = p.find(moment{e.Lane, stampOf(e.Position)}, math.MaxInt)
		return found
	}
	p.join()
	return p.tree.stamp(e.Lane).position() >= e.Position
}

// find looks for a moment of a lane, or a later one, in the order of distance. If the steps are
// more than the most, it has not looked everywhere.
func (p *past) find(m moment, most int) (found bool, steps int) {
	o, at := p.order, m.stamp.position()
	o.searches++
	todo := append(o.todo[:0], p)
	for next := 0; next < len(todo); next++ {
		if next == most {
			steps = most + 1
			break
		}
		p, steps = todo[next], next+1
		if p.heard.lane == m.lane && p.heard.stamp >= m.stamp || p.tree.stamp(m.lane) >= m.stamp {
			found = true
			break
		}
		for _, earlier := range [...]*past{p.from, p.before} {
			if earlier != nil && earlier.latest >= at && earlier.search != o.searches {
				if earlier.search != whole {
					earlier.search = o.searches
				}
				todo = append(todo, earlier)
			}
		}
	}
	o.todo = todo[:0]
	return found, steps
}

// join joins the positions, those of the pasts that it was made of first.
func (p *past) join() {
	for todo := []*past{p}; len(todo) > 0; {
		p := todo[len(todo)-1]
		ready := true
		for _, earlier := range [...]*past{p.from, p.before} {
			if p.search != whole && earlier != nil && earlier.search != whole {
				todo, ready = append(todo, earlier), false
			}
		}
		if ready {
			todo = todo[:len(todo)-1]
			p.joinDirectly(nil)
		}
	}
}

// joinDirectly does so if all that it was made of is whole. A lane is left out if the oldest
// of its work that is remembered is not older than the past.
func (p *past) joinDirectly(oldest []Position) {
	if p.search == whole {
		return
	}
	var tree *positions
	if p.before != nil {
		tree = p.before.tree
	}
	if p.from != nil {
		tree = tree.join(p.from.tree)
	}
	if p.heard.stamp > 0 && (oldest == nil || oldest[p.heard.lane] <= p.heard.stamp.position()) {
		tree = tree.raise(p.heard)
	}
	p.tree, p.before, p.from, p.search = tree, nil, nil, whole
}

// JoinLater says that the clocks of lanes and threads are joined only when it matters, for
// programs with many lanes of which each waits for work that it is about to come after. It
// must be called before anything else. Positions then count the work of all lanes together.
// Whoever asks for it has to call ForgetPasts when PastsDue says so.
func (o *Order) JoinLater() {
	o.nothing = &past{order: o, search: whole}
	o.giveLane(o.current)
}

// giveLane gives a thread a lane, whose moments tell what the thread has seen.
func (o *Order) giveLane(t *thread) {
	t.lane = o.newLane(spec.DeviceStream{})
	o.nowSeen(t, t.lane.clock)
}

// PastsDue reports whether enough waits have happened for ForgetPasts.
func (o *Order) PastsDue() bool { return len(o.young) > 2*max(fewPasts, o.keep) }

// ForgetPasts forgets how old clocks were joined, and keeps only what they cover of the work that
// somebody remembers. For each lane, by number, oldest is the position of the oldest such
// work, 0 if there is none. Clocks need not be asked for any other from here on. Remembered
// is how many pieces of work those are.
func (o *Order) ForgetPasts(oldest []Position, remembered int) {
	for lane, p := range oldest {
		if p == 0 {
			oldest[lane] = ^Position(0)
		}
	}
	o.keep = max(fewPasts, 4*remembered)
	old := max(0, len(o.young)-o.keep)
	for _, p := range o.young[:old] {
		p.joinDirectly(oldest)
	}
	rest := copy(o.young, o.young[old:])
	clear(o.young[rest:])
	o.young = o.young[:rest]
}
