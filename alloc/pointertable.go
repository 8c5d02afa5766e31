package alloc

import (
	"math/bits"
	"sync/atomic"

	"gaugeblock/spec"
)

// A pointerTable has the allocated blocks of one device by address. It is a hash table with
// open addressing: a pointer is in the first free slot from its home on. When a pointer is erased
// those behind it move up, so that a search ends at the first free slot. The …Locked methods
// are called with the device's mutex held.
//
// A free names a pointer and nothing else. If there are several devices, the one that has the
// pointer must be found before its mutex can be taken. So the table can be shared: then it keeps
// a copy of the keys, as atomics, into which has looks without the mutex. (Upstream has one table for all devices, in 67 parts with a
// mutex each, and changes it without the device's mutex held.)
type pointerTable struct {
	slots []slot // a power of two of them
	limit int    // of used
	shift int    // 64 minus the binary logarithm of the number of slots
	used  int    // slots with a pointer

	shared  bool // set before the table is used
	keys    []atomic.Uint64
	readers atomic.Pointer[[]atomic.Uint64] // keys, for has
	changes atomic.Uint64                   // odd during a change
}

// slot has a pointer and its block. The key of a free slot is 0.
type slot struct {
	key   uint64
	block *block
}

const fewestSlots = 64

// sparseSlots is the largest number of slots (256 KiB) of which at most a quarter is used, so
// that most pointers are at home. Of more slots it is at most half: there the memory counts.
const sparseSlots = 1 << 14

// golden is 2^64 divided by the golden ratio. Multiplied by it, multiples of any step are
// spread over the high bits.
const golden = 0x9E3779B97F4A7C15

// home is the slot where the search for a pointer begins.
func (t *pointerTable) home(key uint64) int { return homeOf(key, t.shift) }

func homeOf(key uint64, shift int) int { return int(key * golden >> (shift & 63)) }

// shiftOf is the shift of a table with so many slots.
func shiftOf(slots int) int { return 64 - bits.Len(uint(slots-1)) }

// getLocked is the block allocated at p, or nil.
func (t *pointerTable) getLocked(p spec.Ptr) *block {
	if i := t.findLocked(p); i >= 0 {
		return t.slots[i].block
	}
	return nil
}

// findLocked is the slot of a pointer, or -1. It is valid until the next change.
func (t *pointerTable) findLocked(p spec.Ptr) int {
	if len(t.slots) == 0 {
		return -1
	}
	for i := t.home(uint64(p)); ; i = t.next(i) {
		switch t.slots[i].key {
		case 0:
			return -1
		case uint64(p):
			return i
		}
	}
}

func (t *pointerTable) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

// insertLocked adds the block at p, which is not in the table.
func (t *pointerTable) insertLocked(p spec.Ptr, b *block) {
	if t.used >= t.limit {
		t.growLocked()
	}
	t.used++
	slots := t.slots
	i := t.home(uint64(p))
	for slots[i].key != 0 {
		i = (i + 1) & (len(slots) - 1)
	}
	if t.shared {
		t.changeLocked(func() { t.set(i, uint64(p), b) })
		return
	}
	slots[i] = slot{uint64(p), b}
}

// eraseLocked removes a pointer, which is in the table.
func (t *pointerTable) eraseLocked(p spec.Ptr) {
	t.used--
	i := t.findLocked(p)
	if t.shared {
		t.changeLocked(func() { t.emptyLocked(i) })
		return
	}
	if t.slots[t.next(i)].key == 0 {
		t.slots[i] = slot{}
		return
	}
	t.emptyLocked(i)
}

// emptyLocked makes a slot free. Each pointer behind it, up to the
// first free slot, moves up to the slot that has become free, unless its home is behind that.
func (t *pointerTable) emptyLocked(free int) {
	for i := t.next(free); t.slots[i].key != 0; i = t.next(i) {
		key := t.slots[i].key
		if distance := t.distance(t.home(key), i); distance >= t.distance(free, i) {
			t.set(free, key, t.slots[i].block)
			free = i
		}
	}
	t.set(free, 0, nil)
}

// distance is the number of steps from a slot on to another.
func (t *pointerTable) distance(from, to int) int { return (to - from) & (len(t.slots) - 1) }

func (t *pointerTable) set(i int, key uint64, b *block) {
	t.slots[i] = slot{key, b}
	if t.shared {
		t.keys[i].Store(key)
	}
}

// growLocked copies the pointers into a larger array.
func (t *pointerTable) growLocked() {
	old := t.slots
	t.slots = make([]slot, max(fewestSlots, 2*len(old)))
	t.shift = shiftOf(len(t.slots))
	t.limit = len(t.slots) / 2
	if len(t.slots) <= sparseSlots {
		t.limit /= 2
	}
	t.used = 0
	if t.shared {
		t.keys = make([]atomic.Uint64, len(t.slots))
	}
	for _, s := range old {
		if s.key != 0 {
			t.insertLocked(spec.Ptr(s.key), s.block)
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

// contains searches an array of keys, which may be changing, for a key.
func contains(keys []atomic.Uint64, key uint64) bool {
	last := len(keys) - 1
	i := homeOf(key, shiftOf(len(keys)))
	for range keys {
		switch keys[i].Load() {
		case 0:
			return false
		case key:
			return true
		}
		i = (i + 1) & last
	}
	return false
}
