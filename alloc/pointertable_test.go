package alloc

import (
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestPointerTableEqualsMap does the same to a table and to a map. The pointers are of
// a small range, so that they collide and are inserted again, and of the largest and
// smallest values.
func TestPointerTableEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table pointerTable
		want := map[spec.Ptr]*block{}
		step := rapid.SampledFrom([]spec.Ptr{1, 512, 2 << 20}).Draw(t, "step")
		pointer := rapid.Custom(func(t *rapid.T) spec.Ptr {
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				return rapid.SampledFrom([]spec.Ptr{1, 1<<47 - 512, 1 << 63, 1<<64 - 2}).Draw(t, "extreme")
			}
			return step * spec.Ptr(rapid.IntRange(1, 300).Draw(t, "n"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "run") {
					if p := pointer.Draw(t, "p"); want[p] == nil {
						want[p] = new(block)
						table.insertLocked(p, want[p])
					}
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "run") {
					if p := pointer.Draw(t, "p"); want[p] != nil {
						delete(want, p)
						table.eraseLocked(p)
					}
				}
			},
			"": func(t *rapid.T) {
				for range 20 {
					p := pointer.Draw(t, "p")
					if got := table.getLocked(p); got != want[p] {
						t.Fatalf("get(%v) = %p, want %p", p, got, want[p])
					}
				}
				checkSlots(t, &table, len(want))
			},
		})
	})
}

// checkSlots counts the slots of a table.
func checkSlots(t *rapid.T, table *pointerTable, live int) {
	if table.slots.Load() == nil {
		return
	}
	counted := map[bool]int{}
	slots := *table.slots.Load()
	for i := range slots {
		if key := slots[i].key.Load(); key != emptySlot {
			counted[key == tombstone]++
		}
	}
	if table.used != live || counted[false] != live || counted[true] != table.tombstones {
		t.Fatalf("the table says %d used and %d tombstones, there are %d and %d; %d are allocated",
			table.used, table.tombstones, counted[false], counted[true], live)
	}
	if 2*(table.used+table.tombstones) > len(slots)+1 {
		t.Fatalf("%d of %d slots are in use: searches would get long", table.used+table.tombstones, len(slots))
	}
}

// TestPointerTableNeverFinds: what cannot be a pointer is not found, not even in a
// table that has tombstones.
func TestPointerTableNeverFinds(t *testing.T) {
	var table pointerTable
	for _, p := range []spec.Ptr{0, spec.Ptr(tombstone)} {
		if table.has(p) {
			t.Errorf("%v is in a new table", p)
		}
	}
	for p := spec.Ptr(512); p < 512*40; p += 512 {
		table.insertLocked(p, new(block))
	}
	for p := spec.Ptr(512); p < 512*40; p += 1024 {
		table.eraseLocked(p)
	}
	for _, p := range []spec.Ptr{0, spec.Ptr(tombstone), 512, 513, 1025} {
		if table.has(p) {
			t.Errorf("%v is in the table", p)
		}
	}
}

// TestPointerTableStaysSmall: pointers that are inserted and erased do not fill the
// table.
func TestPointerTableStaysSmall(t *testing.T) {
	var table pointerTable
	for i := range spec.Ptr(100_000) {
		table.insertLocked((i+1)*512, new(block))
		if i >= 10 {
			table.eraseLocked((i - 9) * 512)
		}
	}
	if n := len(*table.slots.Load()); n > 2*fewestSlots {
		t.Errorf("10 pointers are allocated, and the table has %d slots", n)
	}
}

// TestPointerTableReaders: a reader without the mutex always finds a pointer that stays
// allocated, whatever the writer does.
func TestPointerTableReaders(t *testing.T) {
	var table pointerTable
	const fixed = spec.Ptr(7 * 512)
	table.insertLocked(fixed, new(block))
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				if !table.has(fixed) {
					t.Error("a pointer that is allocated was not found")
					return
				}
			}
		})
	}
	for i := range spec.Ptr(20_000) {
		p := (i%1000 + 8) * 512
		if table.has(p) {
			table.eraseLocked(p)
		} else {
			table.insertLocked(p, new(block))
		}
	}
	done.Store(true)
	readers.Wait()
}
