package alloc

import (
	"math/bits"
	"sync/atomic"

	"gaugeblock/spec"
)

// A pointerTable knows the blocks of one device that are out, by their pointers.
//
// A free names a pointer and nothing else, so the front must find out whose it is
// before it can take the right lock. It asks each device's table in turn, with has,
// which takes no lock; the device then asks again under its own, because somebody
// else may have freed the pointer in between. All other methods are called with
// the device's lock held: there is one writer at a time.
//
// (Upstream has one table for all devices, spread over 67 locks of its own, and
// changes it outside the device's lock.)
//
// It is a hash table with open addressing. What readers without the lock rely on:
// a key, once in a slot, stays in that slot until it is taken out, and an array of
// slots that is replaced by a larger one is never changed again.
type pointerTable struct {
	slots atomic.Pointer[[]slot] // a power of two of them, at most half in use
	live  int                    // slots with a pointer
	dead  int                    // slots from which a pointer was taken out
}

// slot holds a pointer and its block. The block is for holders of the lock only.
type slot struct {
	key   atomic.Uint64
	block *block
}

// What a slot's key is when it holds no pointer. A search goes on past a deadSlot
// and ends at an emptySlot.
const (
	emptySlot uint64 = 0
	deadSlot  uint64 = 1<<64 - 1
)

const fewestSlots = 64

// has reports whether the pointer is out.
func (t *pointerTable) has(p spec.Ptr) bool { return t.find(p) != nil }

// get is the block at p if p is out, else nil.
func (t *pointerTable) get(p spec.Ptr) *block {
	if s := t.find(p); s != nil {
		return s.block
	}
	return nil
}

// find is the slot with a pointer, or nil.
func (t *pointerTable) find(p spec.Ptr) *slot {
	array := t.slots.Load()
	if array == nil || p == 0 || uint64(p) == deadSlot {
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

// home is where the search for a pointer begins among n slots, n a power of two.
func home(p spec.Ptr, n int) int {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: spreads multiples of any step
	return int(uint64(p) * golden >> (64 - bits.Len(uint(n-1))))
}

// put notes that the block at p, which is not out, is out now.
func (t *pointerTable) put(p spec.Ptr, b *block) {
	array := t.slots.Load()
	if array == nil || 2*(t.live+t.dead) >= len(*array) {
		array = t.rebuild()
	}
	t.place(*array, p, b)
	t.live++
}

// place puts a pointer into the first slot that is not in use.
func (t *pointerTable) place(slots []slot, p spec.Ptr, b *block) {
	for i := home(p, len(slots)); ; i = (i + 1) & (len(slots) - 1) {
		key := slots[i].key.Load()
		if key != emptySlot && key != deadSlot {
			continue
		}
		if key == deadSlot {
			t.dead--
		}
		slots[i].block = b
		slots[i].key.Store(uint64(p))
		return
	}
}

// take takes out the pointer, which is there. Its slot can become empty if no
// search goes on past it, and so can the dead ones before it.
func (t *pointerTable) take(p spec.Ptr) {
	slots := *t.slots.Load()
	last := len(slots) - 1
	i := home(p, len(slots))
	for slots[i].key.Load() != uint64(p) {
		i = (i + 1) & last
	}
	slots[i].block = nil
	t.live--
	if slots[(i+1)&last].key.Load() != emptySlot {
		slots[i].key.Store(deadSlot)
		t.dead++
		return
	}
	slots[i].key.Store(emptySlot)
	for i = (i - 1) & last; slots[i].key.Load() == deadSlot; i = (i - 1) & last {
		slots[i].key.Store(emptySlot)
		t.dead--
	}
}

// rebuild copies what is live into an array that is at most a quarter full.
func (t *pointerTable) rebuild() *[]slot {
	n := fewestSlots
	for n < 4*(t.live+1) {
		n *= 2
	}
	grown := make([]slot, n)
	t.dead = 0
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			if key := (*old)[i].key.Load(); key != emptySlot && key != deadSlot {
				t.place(grown, spec.Ptr(key), (*old)[i].block)
			}
		}
	}
	t.slots.Store(&grown)
	return &grown
}
