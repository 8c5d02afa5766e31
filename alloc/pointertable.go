package alloc

import (
	"math/bits"
	"sync/atomic"

	"gaugeblock/spec"
)

// Contract: a pointerTable is a map from the addresses of the allocated blocks of one device to
// the blocks. TestPointerTableEqualsMap compares the two; the rest of this file need not be read.

// A pointerTable has the allocated blocks of one device by address. It is a hash table with open
// addressing: a pointer is in the first group of slots, from its home on, that was not full. When a
// pointer of a full group is erased, one behind it moves up, so that a search ends at the first
// group that is not full. The …Locked methods are called with the device's mutex held.
//
// A free names a pointer and nothing else. If there are several devices, the one that has the
// pointer must be found before its mutex can be taken. So the table can be shared: then it keeps a
// copy of the keys, as atomics, into which has looks without the mutex. (Upstream has one table for
// all devices, in 67 parts with a mutex each, and changes it without the device's mutex held.)
type pointerTable struct {
	groups []slotGroup // a power of two of them
	limit  int         // of used
	shift  int         // 64 minus the binary logarithm of the number of groups
	used   int         // slots with a pointer

	shared  bool                            // set before the table is used
	keys    []atomic.Uint64                 // of all slots
	readers atomic.Pointer[[]atomic.Uint64] // keys, for has
	changes atomic.Uint64                   // odd during a change
}

const fewestGroups = 16

// sparseGroups is the largest number of groups (256 KiB) of whose slots at most a quarter is used,
// so that nearly all pointers are at home. Of more it is at most half: there the memory counts.
const sparseGroups = 1 << 12

// golden is 2^64 divided by the golden ratio. Multiplied by it, multiples of any step are
// spread over the high bits.
const golden = 0x9E3779B97F4A7C15

// home is the group where the search for a pointer begins.
func (t *pointerTable) home(key uint64) int { return homeOf(key, t.shift) }

func homeOf(key uint64, shift int) int { return int(key * golden >> (shift & 63)) }

// shiftOf is the shift of a table with that number of groups.
func shiftOf(groups int) int { return 64 - bits.Len(uint(groups-1)) }

// findLocked is the block allocated at p, which is not 0, or nil.
func (t *pointerTable) findLocked(p spec.Ptr) *block {
	if len(t.groups) == 0 {
		return nil
	}
	i := t.home(uint64(p))
	if s := t.groups[i].find(uint64(p)); s.key == uint64(p) {
		return s.block
	}
	if s, _ := t.findFrom(i, uint64(p)); s != nil {
		return s.block
	}
	return nil
}

// findFrom is the slot of a key, and its group, searched from a group on, or nil.
func (t *pointerTable) findFrom(i int, key uint64) (*slot, int) {
	for ; ; i = t.next(i) {
		if s := t.groups[i].find(key); s.key == key {
			return s, i
		}
		if !t.groups[i].isFull() {
			return nil, 0
		}
	}
}

func (t *pointerTable) next(i int) int { return (i + 1) & (len(t.groups) - 1) }

// insertLocked adds the block at p, which is not in the table.
func (t *pointerTable) insertLocked(p spec.Ptr, b *block) {
	if t.used >= t.limit {
		t.growLocked()
	}
	t.used++
	i := t.home(uint64(p))
	s := t.groups[i].vacant()
	for s.key != 0 {
		i = t.next(i)
		s = t.groups[i].vacant()
	}
	if t.shared {
		t.changeLocked(func() { t.set(i, s, slot{uint64(p), b}) })
		return
	}
	*s = slot{uint64(p), b}
}

// eraseLocked removes a pointer, which is in the table. If a slot of its home is free, it is there.
func (t *pointerTable) eraseLocked(p spec.Ptr) {
	t.used--
	i := t.home(uint64(p))
	home := &t.groups[i]
	switch {
	case t.shared:
		t.changeLocked(func() { t.emptyLocked(t.findFrom(i, uint64(p))) })
	case home[groupSize-1].key != 0:
		t.emptyLocked(t.findFrom(i, uint64(p)))
	default:
		*home.find(uint64(p)) = slot{}
	}
}

// emptyLocked makes a slot free, which is in the group i. If the group was full, a pointer behind
// it moves up whose home is not behind it: the first one, then another to where that was, and so
// on up to the first group that is not full.
func (t *pointerTable) emptyLocked(free *slot, i int) {
	of := i // the group of the free slot
	for full := t.groups[i].isFull(); full; {
		i = t.next(i)
		full = t.groups[i].isFull()
		if s := t.movableLocked(i, of); s != nil {
			t.set(of, free, *s)
			of, free = i, s
		}
	}
	t.set(of, free, slot{})
}

// movableLocked is a slot of a group whose pointer may as well be in an earlier group, or nil.
func (t *pointerTable) movableLocked(i, earlier int) *slot {
	for place := range t.groups[i] {
		s := &t.groups[i][place]
		if s.key != 0 && t.distance(t.home(s.key), i) >= t.distance(earlier, i) {
			return s
		}
	}
	return nil
}

// distance is the number of steps from a group on to another.
func (t *pointerTable) distance(from, to int) int { return (to - from) & (len(t.groups) - 1) }

// set changes a slot of a group.
func (t *pointerTable) set(i int, s *slot, to slot) {
	*s = to
	if t.shared {
		for place := range t.groups[i] {
			if &t.groups[i][place] == s {
				t.keys[groupSize*i+place].Store(to.key)
			}
		}
	}
}

// growLocked copies the pointers into a larger array.
func (t *pointerTable) growLocked() {
	old := t.groups
	t.groups = make([]slotGroup, max(fewestGroups, 2*len(old)))
	t.shift = shiftOf(len(t.groups))
	t.limit = groupSize * len(t.groups) / 2
	if len(t.groups) <= sparseGroups {
		t.limit /= 2
	}
	t.used = 0
	if t.shared {
		t.keys = make([]atomic.Uint64, groupSize*len(t.groups))
	}
	for i := range old {
		for _, s := range old[i] {
			if s.key != 0 {
				t.insertLocked(spec.Ptr(s.key), s.block)
			}
		}
	}
	if t.shared {
		keys := t.keys
		t.readers.Store(&keys)
	}
}

// changeLocked makes a change of a shared table. Meanwhile changes is odd.
func (t *pointerTable) changeLocked(change func()) {
	t.changes.Add(1)
	change()
	t.changes.Add(1)
}

// has reports whether a block is allocated at p, without the mutex, in a table that is shared.
// If the table changes meanwhile, it is not certain.
func (t *pointerTable) has(p spec.Ptr) (found, certain bool) {
	before := t.changes.Load()
	if keys := t.readers.Load(); keys != nil {
		found = contains(*keys, uint64(p))
	}
	return found, before%2 == 0 && t.changes.Load() == before
}

// contains searches the keys of all slots, which may be changing, for a key.
func contains(keys []atomic.Uint64, key uint64) bool {
	groups := len(keys) / groupSize
	i := homeOf(key, shiftOf(groups))
	for range groups {
		full := true
		for place := range groupSize {
			switch keys[groupSize*i+place].Load() {
			case 0:
				full = false
			case key:
				return true
			}
		}
		if !full {
			return false
		}
		i = (i + 1) & (groups - 1)
	}
	return false
}
