package alloc

// Contract: find, vacant and isFull are loops over four slots. TestSlotGroup compares them; the
// rest of this file need not be read.

// A slotGroup is four slots of a pointerTable: one cache line. A group has no order, and free slots
// are anywhere in it.
//
// Where in its group a pointer is, is chance: a processor that had to predict a branch for it would
// be wrong in a third of all searches, and as often when a pointer is inserted or erased. So all
// four keys are compared, and the results are numbers with which the place is computed.
type slotGroup [groupSize]slot

const groupSize = 4

// slot has a pointer and its block. The key of a free slot is 0.
type slot struct {
	key   uint64
	block *block
}

// find is the slot of a key, or any slot if the key is not in the group.
func (g *slotGroup) find(key uint64) *slot {
	place := oneIf(g[1].key == key) | 2*oneIf(g[2].key == key) | 3*oneIf(g[3].key == key)
	return &g[place%groupSize]
}

// vacant is the first free slot, or the last slot if none is free.
func (g *slotGroup) vacant() *slot {
	used := oneIf(g[0].key != 0)
	place := used
	used &= oneIf(g[1].key != 0)
	place += used
	used &= oneIf(g[2].key != 0)
	place += used
	return &g[place%groupSize]
}

// isFull reports whether no slot is free. Mostly the last one is: that can be predicted.
func (g *slotGroup) isFull() bool {
	return g[3].key != 0 && g[2].key != 0 && g[1].key != 0 && g[0].key != 0
}

// oneIf is 1 if the condition holds, else 0. The compiler makes no branch of it.
func oneIf(condition bool) uint {
	if condition {
		return 1
	}
	return 0
}
