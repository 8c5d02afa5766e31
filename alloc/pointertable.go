package alloc

import (
	"math/bits"
	"sync/atomic"

	"gaugeblock/spec"
)

// A pointerTable has the allocated blocks of one device by address.
//
// A free names a pointer and nothing else, so the device must be found before its mutex
// can be taken. Allocator.deviceOf looks into each device's table with has, which takes no
// mutex. The device then looks the pointer up again with its mutex held, since another
// caller may have freed it in between. The …Locked methods are called with the device's
// mutex held, so there is one writer at a time.
//
// (Upstream has one table for all devices, in 67 parts with a mutex each, and changes it
// without the device's mutex held.)
//
// It is a hash table with open addressing. Readers without the mutex rely on two facts:
// a key stays in its slot until it is erased, and an array of slots that was replaced by
// a rebuilt one does not change any more.
type pointerTable struct {
	slots      atomic.Pointer[[]slot] // a power of two of them, at most half of them not empty
	used       int                    // slots with a pointer
	tombstones int                    // slots whose pointer was erased and that are not empty yet
}

// slot has a pointer and its block. The block is read and written with the mutex held.
type slot struct {
	key   atomic.Uint64
	block *block
}

// The keys of slots without a pointer. A search goes on past a tombstone and ends at an
// emptySlot.
const (
	emptySlot uint64 = 0
	tombstone uint64 = 1<<64 - 1
)

const fewestSlots = 64

// has reports whether a block is allocated at p.
func (t *pointerTable) has(p spec.Ptr) bool { return t.find(p) != nil }

// getLocked is the block allocated at p, or nil.
func (t *pointerTable) getLocked(p spec.Ptr) *block {
	if s := t.find(p); s != nil {
		return s.block
	}
	return nil
}

// find is the slot of a pointer, or nil.
func (t *pointerTable) find(p spec.Ptr) *slot {
	array := t.slots.Load()
	if array == nil || p == 0 || uint64(p) == tombstone {
		return nil
	}
	slots := *array
	for i := home(p, len(slots)); ; i = (i + 1) & (len(slots) - 1) {
		switch slots[i].key.Load() {
		case uint64(p):
			return &slots[i]
		case emptySlot:
			return nil
		}
	}
}

// golden is 2^64 divided by the golden ratio. Multiplied by it, multiples of any step are
// spread over the high bits.
const golden = 0x9E3779B97F4A7C15

// home is where the search for a pointer begins among n slots, n a power of two.
func home(p spec.Ptr, n int) int {
	return int(uint64(p) * golden >> (64 - bits.Len(uint(n-1))))
}

// insertLocked adds the block at p, which is not in the table.
func (t *pointerTable) insertLocked(p spec.Ptr, b *block) {
	array := t.slots.Load()
	if array == nil || 2*(t.used+t.tombstones) >= len(*array) {
		array = t.rebuildLocked()
	}
	t.placeLocked(*array, p, b)
	t.used++
}

// placeLocked puts a pointer into the first slot, from its home on, that has none.
func (t *pointerTable) placeLocked(slots []slot, p spec.Ptr, b *block) {
	for i := home(p, len(slots)); ; i = (i + 1) & (len(slots) - 1) {
		key := slots[i].key.Load()
		if key != emptySlot && key != tombstone {
			continue
		}
		if key == tombstone {
			t.tombstones--
		}
		slots[i].block = b
		slots[i].key.Store(uint64(p))
		return
	}
}

// eraseLocked removes a pointer, which is in the table. Its slot becomes empty if no search
// goes on past it, and so do the tombstones directly before it; else it becomes a tombstone.
func (t *pointerTable) eraseLocked(p spec.Ptr) {
	slots := *t.slots.Load()
	last := len(slots) - 1
	i := home(p, len(slots))
	for slots[i].key.Load() != uint64(p) {
		i = (i + 1) & last
	}
	slots[i].block = nil
	t.used--
	if slots[(i+1)&last].key.Load() != emptySlot {
		slots[i].key.Store(tombstone)
		t.tombstones++
		return
	}
	slots[i].key.Store(emptySlot)
	for i = (i - 1) & last; slots[i].key.Load() == tombstone; i = (i - 1) & last {
		slots[i].key.Store(emptySlot)
		t.tombstones--
	}
}

// rebuildLocked copies the used slots into a new array, of which at most a quarter is used.
func (t *pointerTable) rebuildLocked() *[]slot {
	n := fewestSlots
	for n < 4*(t.used+1) {
		n *= 2
	}
	rebuilt := make([]slot, n)
	t.tombstones = 0
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			if key := (*old)[i].key.Load(); key != emptySlot && key != tombstone {
				t.placeLocked(rebuilt, spec.Ptr(key), (*old)[i].block)
			}
		}
	}
	t.slots.Store(&rebuilt)
	return &rebuilt
}
