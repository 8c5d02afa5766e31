package happensbefore

import (
	"cmp"
	"iter"
)

// Position counts the work submitted to a lane, from 1; 0 is before all of it.
type Position uint64

// Epoch names a piece of work by its lane and its position there. Whether work comes
// before something needs no more than its epoch and the clock of that something
// (Flanagan and Freund, FastTrack, PLDI 2009).
type Epoch struct {
	Lane     int
	Position Position
}

// A Clock says which work comes before something: for each lane, by number, all work
// up to a position. It is the vector clock of Fidge and Mattern.
//
//	lane          0  1  2
//	clock        [4, 0, 7]   lane 0's first four pieces of work and lane 2's first
//	                         seven come before; of lane 1 none is known to
//
// A lane that a clock does not have counts as 0. The zero clock is of what nothing is
// known to come before.
//
// A clock is a value: a copy costs nothing and does not change with the original. Its
// memory is bounded by the lanes that it has, not by the lanes that there are, and
// clocks that were made of one another share it (positions.go). Two clocks that are
// equal by == cover the same; the converse does not hold.
type Clock struct {
	tree *positions
	// own is a moment that may be beyond the tree's. A lane's clock has that of its own
	// latest work here, so that giving it work does not copy the tree.
	own moment

	known *positions // the tree of the clock that was joined last, which this one covers

	// Raise has added work to it, without what came before that work, or it is more than what
	// its own moment tells.
	partial bool

	later *past // what it covers beside these, where clocks are joined later (past.go)
}

// Of is the position that the clock has for a lane.
func (c Clock) Of(lane int) Position { return c.joined().stamp(lane).position() }

// joined is the clock with all that it covers in its tree.
func (c Clock) joined() Clock {
	if c.later != nil {
		c.later.join()
		c.tree, c.later = c.tree.join(c.later.tree), nil
	}
	return c
}

// stamp is that of a lane in a clock that is joined.
func (c Clock) stamp(lane int) stamp {
	s := c.tree.stamp(lane)
	if lane == c.own.lane {
		return max(s, c.own.stamp)
	}
	return s
}

// Covers reports whether the work comes before what the clock is of.
func (c Clock) Covers(e Epoch) bool {
	if e.Lane == c.own.lane && e.Position <= c.own.stamp.position() {
		return true
	}
	return c.tree.stamp(e.Lane).position() >= e.Position || c.later != nil && c.later.covers(e)
}

// CoversAll reports whether everything that another clock covers is covered.
func (c Clock) CoversAll(other Clock) bool {
	c, other = c.joined(), other.joined()
	if !c.Covers(Epoch{other.own.lane, other.own.stamp.position()}) {
		return false
	}
	return c.tree == other.tree || c.covering().covers(other.tree)
}

// covering is a tree of all that the clock has, which must be joined.
func (c Clock) covering() *positions { return c.tree.raise(c.own) }

// Each visits, for each lane that the clock has, the latest work that it covers.
func (c Clock) Each() iter.Seq[Epoch] {
	c = c.joined()
	return func(visit func(Epoch) bool) {
		own := Epoch{c.own.lane, c.Of(c.own.lane)}
		if own.Position > 0 && !visit(own) {
			return
		}
		c.tree.each(0, 1, func(e Epoch) bool { return e.Lane == own.Lane || visit(e) })
	}
}

// Others is the clock without what its lane has been given since it last heard of other
// lanes. Lanes that have waited for the same event, and for nothing else, have equal ones.
func (c Clock) Others() Clock { return Clock{tree: c.tree, partial: c.partial, later: c.later} }

// Join adds what another clock covers: whoever waits for two things comes after all
// that comes before either.
func (c *Clock) Join(other Clock) {
	switch {
	case other.tree == c.tree || other.tree == c.known:
	case c.has(other.tree):
	case other.has(c.tree):
		c.tree = other.tree
	default:
		c.tree = c.tree.join(other.tree)
	}
	c.known = other.tree
	if c.later != nil || other.later != nil {
		c.joinLater(other)
		return
	}
	c.partial = c.partial || other.partial
	c.raise(other.own)
}

// joinLater joins all but the trees.
func (c *Clock) joinLater(other Clock) {
	from := other.later
	switch {
	case other.own.stamp == 0 && (from == nil || from == c.later || from == from.order.nothing):
	case !other.partial && c.heardOf(other.own):
		return
	default:
		c.hear(other.own, from, cmp.Or(c.later, other.later).order)
	}
	c.partial = c.partial || other.partial
}

// hear adds a lane's moment and what that lane had heard of then.
func (c *Clock) hear(m moment, from *past, o *Order) {
	c.later = o.newPast(c.later, m, from)
	c.partial = c.partial || c.own.stamp > 0 // the own moment is of less
}

// heardOf reports whether a lane at a moment, and so all that it had heard of by then, is
// known to be covered.
func (c Clock) heardOf(m moment) bool {
	if c.partial || c.later == nil || m.stamp == 0 {
		return false
	}
	if m.lane != c.own.lane || m.stamp > c.own.stamp {
		if found, _ := c.later.find(m, fewSteps); !found {
			return false
		}
	}
	// The moment must be of the lane that has the number now, and not of an earlier one. This comes
	// last: reading one of many lanes is a cache miss.
	return c.later.order.lanes[m.lane].born < m.stamp
}

// has reports whether a tree that was a lane's clock is known to be covered.
func (c Clock) has(t *positions) bool {
	return !c.partial && t != nil && t.of != nil && !t.of.reused && c.stamp(t.of.number) >= t.version
}

// Raise adds a piece of work and what its lane had been given before, without what those
// came after.
func (c *Clock) Raise(e Epoch) {
	if !c.Covers(e) {
		c.partial = true
		c.raise(moment{e.Lane, stampOf(e.Position)})
	}
}

// raise adds the moment of a lane of which the clock covers all else, or is going to.
func (c *Clock) raise(m moment) {
	switch {
	case c.later != nil:
		c.tree = c.tree.raise(m)
	case c.stamp(m.lane) >= m.stamp:
	case m.lane == c.own.lane:
		c.own = m
	default:
		c.tree = c.tree.raise(m)
	}
}

// Tick raises a lane by one, which is the epoch of the lane's next work.
func (c *Clock) Tick(lane int) Epoch {
	if *c = c.joined(); lane != c.own.lane {
		c.tree = c.covering()
	}
	e := Epoch{lane, c.Of(lane) + 1}
	c.own = moment{lane, stampOf(e.Position)}
	return e
}

// Set makes the clock equal to another one.
func (c *Clock) Set(other Clock) { *c = other }

// kept is the clock for those who keep it and join nothing to it. It does not hold on to the
// tree that was joined last.
func (c Clock) kept() Clock {
	c.known = nil
	return c
}
