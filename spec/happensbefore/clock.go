package happensbefore

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
// Lanes that are beyond the end of a clock count as 0. The nil clock is of what
// nothing is known to come before.
type Clock []Position

// Of is the position that the clock has for a lane.
func (c Clock) Of(lane int) Position {
	if lane < len(c) {
		return c[lane]
	}
	return 0
}

// Covers reports whether the work comes before what the clock is of.
func (c Clock) Covers(e Epoch) bool { return c.Of(e.Lane) >= e.Position }

// CoversAll reports whether everything that another clock covers is covered.
func (c Clock) CoversAll(other Clock) bool {
	for lane, p := range other {
		if c.Of(lane) < p {
			return false
		}
	}
	return true
}

// Join adds what another clock covers: whoever waits for two things comes after all
// that comes before either.
func (c *Clock) Join(other Clock) {
	c.extend(len(other))
	for lane, p := range other {
		(*c)[lane] = max((*c)[lane], p)
	}
}

// Raise adds a piece of work and what its lane had been given before.
func (c *Clock) Raise(e Epoch) {
	c.extend(e.Lane + 1)
	(*c)[e.Lane] = max((*c)[e.Lane], e.Position)
}

// Tick raises a lane by one, which is the epoch of the lane's next work.
func (c *Clock) Tick(lane int) Epoch {
	c.extend(lane + 1)
	(*c)[lane]++
	return Epoch{lane, (*c)[lane]}
}

// Set makes the clock equal to another one, in the memory that it has.
func (c *Clock) Set(other Clock) { *c = append((*c)[:0], other...) }

// extend makes a clock long enough for so many lanes.
func (c *Clock) extend(lanes int) {
	for len(*c) < lanes {
		*c = append(*c, 0)
	}
}
