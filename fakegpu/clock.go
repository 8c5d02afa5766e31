package fakegpu

// A clock says how far something has come to know the work of a machine: for each
// lane, up to which position that lane's work is certain to be over. Lanes are
// numbered (order.go); positions count from 1, and 0 is before everything.
//
//	lane          0  1  2
//	clock        [4, 0, 7]   lane 0's first four pieces of work are over, and
//	                         lane 2's first seven; of lane 1 nothing is known
//
// Two clocks are joined by taking the later position of each lane: whoever waits
// for both knows both. This is the vector clock of Fidge and Mattern. A piece of
// work needs no clock to be remembered, only its lane and its position, its epoch:
// everything whose clock has come to that position comes after it (Flanagan and
// Freund, FastTrack, PLDI 2009).
type clock []uint64

// of is the position that a lane has reached.
func (c clock) of(lane int) uint64 {
	if lane < len(c) {
		return c[lane]
	}
	return 0
}

// join takes over what another clock knows.
func (c *clock) join(other clock) {
	c.reach(len(other))
	for lane, at := range other {
		(*c)[lane] = max((*c)[lane], at)
	}
}

// raise sets a lane's position, which never falls.
func (c *clock) raise(lane int, at uint64) {
	c.reach(lane + 1)
	(*c)[lane] = max((*c)[lane], at)
}

// reach makes a clock long enough for so many lanes.
func (c *clock) reach(lanes int) {
	for len(*c) < lanes {
		*c = append(*c, 0)
	}
}

// set makes a clock equal to another, in the room that it has.
func (c *clock) set(other clock) { *c = append((*c)[:0], other...) }
