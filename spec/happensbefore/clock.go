package happensbefore

import "iter"

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
	// own is a position that may be beyond the tree's. A lane's clock has that of its
	// own latest work here, so that giving it work does not copy the tree.
	own Epoch

	// Both save work when many lanes wait for one, and one for many.
	whole *positions // the tree with own in it, if it has been made
	known *positions // the tree of the clock that was joined last, which this one covers
}

// Of is the position that the clock has for a lane.
func (c Clock) Of(lane int) Position {
	p := c.tree.position(lane)
	if lane == c.own.Lane {
		return max(p, c.own.Position)
	}
	return p
}

// Covers reports whether the work comes before what the clock is of.
func (c Clock) Covers(e Epoch) bool {
	if e.Lane == c.own.Lane && e.Position <= c.own.Position {
		return true
	}
	return c.tree.position(e.Lane) >= e.Position
}

// CoversAll reports whether everything that another clock covers is covered.
func (c Clock) CoversAll(other Clock) bool {
	if !c.Covers(other.own) {
		return false
	}
	return c.tree == other.tree || c.covering().covers(other.tree)
}

// covering is a tree of all that the clock has.
func (c Clock) covering() *positions {
	if c.whole != nil {
		return c.whole
	}
	return c.tree.raise(c.own)
}

// Each visits, for each lane that the clock has, the latest work that it covers.
func (c Clock) Each() iter.Seq[Epoch] {
	return func(visit func(Epoch) bool) {
		own := Epoch{c.own.Lane, c.Of(c.own.Lane)}
		if own.Position > 0 && !visit(own) {
			return
		}
		c.tree.each(0, 1, func(e Epoch) bool { return e.Lane == own.Lane || visit(e) })
	}
}

// Others is the clock without what its lane has been given since it last heard of other
// lanes. Lanes that have waited for the same event, and for nothing else, have equal ones.
func (c Clock) Others() Clock { return Clock{tree: c.tree} }

// Join adds what another clock covers: whoever waits for two things comes after all
// that comes before either.
func (c *Clock) Join(other Clock) {
	switch {
	case other.tree == c.tree || other.tree == c.known:
		c.Raise(other.own)
	case other.whole != nil:
		c.setTree(c.tree.join(other.whole))
	default:
		c.setTree(c.tree.join(other.tree))
		c.Raise(other.own)
	}
	c.known = other.tree
}

func (c *Clock) setTree(t *positions) {
	if t != c.tree {
		c.tree, c.whole = t, nil
	}
}

// Raise adds a piece of work and what its lane had been given before.
func (c *Clock) Raise(e Epoch) {
	switch {
	case c.Covers(e):
	case e.Lane == c.own.Lane:
		c.own, c.whole = e, nil
	default:
		c.setTree(c.tree.raise(e))
	}
}

// Tick raises a lane by one, which is the epoch of the lane's next work.
func (c *Clock) Tick(lane int) Epoch {
	if lane != c.own.Lane {
		c.tree = c.covering()
	}
	c.own, c.whole = Epoch{lane, c.Of(lane) + 1}, nil
	return c.own
}

// Set makes the clock equal to another one.
func (c *Clock) Set(other Clock) { *c = other }
