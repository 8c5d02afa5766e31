package happensbefore

// positions are the positions of a clock in a tree of small arrays. A tree is never
// changed: raising a position makes new arrays on the way to it and shares all others.
// So a program with many streams, each of which waits for a few others, needs memory
// for what differs, and comparing two clocks skips what they share.
//
// Lane n is at place n of the first array if it is there; otherwise n less its width
// goes to the array below place n modulo the width, and so on:
//
//	width 2      [0 1]
//	            /     \
//	        [2 4]     [3 5]
//	        /   \      ...
//	    [6 10] [8 12]
type positions struct {
	at    [width]Position
	below *[width]*positions // nil if there is nothing below

	// A tree that was a lane's clock says so, since a later one of the same lane has all
	// that an earlier one has.
	of      *Lane
	version uint64
}

const width = 32

// position is that of a lane.
func (t *positions) position(lane int) Position {
	for t != nil {
		if lane < width {
			return t.at[lane]
		}
		if t.below == nil {
			return 0
		}
		lane -= width
		t, lane = t.below[lane%width], lane/width
	}
	return 0
}

// raise is the tree with a lane at a position, at least.
func (t *positions) raise(e Epoch) *positions {
	if t.position(e.Lane) >= e.Position {
		return t
	}
	return t.set(e.Lane, e.Position)
}

func (t *positions) set(lane int, p Position) *positions {
	made := &positions{}
	if t != nil {
		made.at, made.below = t.at, t.below
	}
	if lane < width {
		made.at[lane] = p
		return made
	}
	below := &[width]*positions{}
	if made.below != nil {
		*below = *made.below
	}
	lane -= width
	below[lane%width] = below[lane%width].set(lane/width, p)
	made.below = below
	return made
}

// join is the tree with the greater of the positions of both. It is one of the two if
// that has them all.
func (t *positions) join(other *positions) *positions {
	switch {
	case t == other || other == nil:
		return t
	case t == nil, t.of != nil && t.of == other.of && t.version <= other.version:
		return other
	case t.of != nil && t.of == other.of:
		return t
	}
	joined := positions{at: t.at}
	same, sameOther := true, true
	for i, p := range other.at {
		if p > joined.at[i] {
			joined.at[i], same = p, false
		}
		sameOther = sameOther && p == joined.at[i]
	}
	var below [width]*positions
	some := t.below != nil || other.below != nil
	if some {
		for i := range below {
			below[i] = t.under(i).join(other.under(i))
			same = same && below[i] == t.under(i)
			sameOther = sameOther && below[i] == other.under(i)
		}
	}
	switch {
	case same:
		return t
	case sameOther:
		return other
	}
	made := joined
	if some {
		kept := below
		made.below = &kept
	}
	return &made
}

// under is the tree below a place.
func (t *positions) under(place int) *positions {
	if t.below == nil {
		return nil
	}
	return t.below[place]
}

// covers reports whether no position is greater in the other tree.
func (t *positions) covers(other *positions) bool {
	if t == other || other == nil {
		return true
	}
	if t == nil {
		t = &positions{}
	}
	for i, p := range other.at {
		if p > t.at[i] {
			return false
		}
	}
	for i := range width {
		if !t.under(i).covers(other.under(i)) {
			return false
		}
	}
	return true
}

// each visits the positions above 0. The lane at place p of the tree is first + p*step.
func (t *positions) each(first, step int, visit func(Epoch) bool) bool {
	if t == nil {
		return true
	}
	for place, p := range t.at {
		if p > 0 && !visit(Epoch{first + place*step, p}) {
			return false
		}
	}
	for place := range width {
		// Lane number n of the tree below place p is lane width + p + n*width of this one.
		if !t.under(place).each(first+(width+place)*step, step*width, visit) {
			return false
		}
	}
	return true
}
