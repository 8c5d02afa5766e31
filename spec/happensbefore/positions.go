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
	// apart, so that the garbage collector need not look at them; nil: all 0
	at    *[width]stamp
	below *[width]*positions // nil if there is nothing below

	// A tree that was a lane's clock (Lane.freeze) says so. Whoever has that lane at the
	// version, or a later one, has heard of it directly or by way of others, and has all of
	// the tree: two clocks are compared by one position. That does not hold for clocks that
	// are partial, nor if the lane's number serves another lane by now.
	of      *Lane
	version stamp
}

const width = 32

// stamp is that of a lane.
func (t *positions) stamp(lane int) stamp {
	for t != nil {
		if lane < width {
			return t.stamps()[lane]
		}
		if t.below == nil {
			return 0
		}
		lane -= width
		t, lane = t.below[lane%width], lane/width
	}
	return 0
}

// stamps are those of the first lanes.
func (t *positions) stamps() *[width]stamp {
	if t.at == nil {
		return &noStamps
	}
	return t.at
}

var noStamps [width]stamp

// raise is the tree with a lane at a moment, at least.
func (t *positions) raise(m moment) *positions {
	if t.stamp(m.lane) >= m.stamp {
		return t
	}
	return t.set(m.lane, m.stamp)
}

func (t *positions) set(lane int, at stamp) *positions {
	made := &positions{}
	if t != nil {
		made.at, made.below = t.at, t.below
	}
	if lane < width {
		stamps := *made.stamps()
		stamps[lane] = at
		made.at = &stamps
		return made
	}
	below := &[width]*positions{}
	if made.below != nil {
		*below = *made.below
	}
	lane -= width
	below[lane%width] = below[lane%width].set(lane/width, at)
	made.below = below
	return made
}

// join is the tree with the later of the moments of both. It is one of the two if
// that has them all.
func (t *positions) join(other *positions) *positions {
	joined, _, _ := t.joinWith(other)
	return joined
}

// joinWith says as well whether t has them all, and whether the other does.
func (t *positions) joinWith(other *positions) (joined *positions, same, sameOther bool) {
	switch {
	case t == other:
		return t, true, true
	case other == nil:
		return t, true, false
	case t == nil:
		return other, false, true
	}
	at, same, sameOther := joinStamps(t.at, other.at)
	var below [width]*positions
	if t.below != other.below {
		for i := range below {
			all, allOther := false, false
			below[i], all, allOther = t.under(i).joinWith(other.under(i))
			same, sameOther = same && all, sameOther && allOther
		}
	}
	switch {
	case same:
		return t, true, sameOther
	case sameOther:
		return other, false, true
	}
	made := &positions{at: at, below: t.below}
	if t.below != other.below {
		kept := below
		made.below = &kept
	}
	return made, false, false
}

// joinStamps is the later ones of both.
func joinStamps(a, b *[width]stamp) (joined *[width]stamp, same, sameOther bool) {
	switch {
	case a == b:
		return a, true, true
	case b == nil:
		return a, true, false
	case a == nil:
		return b, false, true
	}
	less, more := stamp(0), stamp(0) // not 0: somewhere a has less than both have, or b
	for i, s := range a {
		later := max(s, b[i])
		less |= later ^ s
		more |= later ^ b[i]
	}
	switch {
	case less == 0:
		return a, true, more == 0
	case more == 0:
		return b, false, true
	}
	joined = new([width]stamp)
	for i, s := range a {
		joined[i] = max(s, b[i])
	}
	return joined, false, false
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
	for i, s := range other.stamps() {
		if s.position() > t.stamps()[i].position() {
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
	for place, s := range t.stamps() {
		if p := s.position(); p > 0 && !visit(Epoch{first + place*step, p}) {
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
