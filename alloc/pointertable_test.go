package alloc

import (
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestPointerTableEqualsMap does the same to a table, one that is shared, and a map. The
// pointers are of a small range, so that they collide and are inserted again, and of the
// largest and smallest values.
func TestPointerTableEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tables := []*pointerTable{{}, {shared: true}}
		want := map[spec.Ptr]*block{}
		step := rapid.SampledFrom([]spec.Ptr{1, 512, 2 << 20}).Draw(t, "step")
		pointer := rapid.Custom(func(t *rapid.T) spec.Ptr {
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				return rapid.SampledFrom([]spec.Ptr{1, 1<<47 - 512, 1 << 63, 1<<64 - 1}).Draw(t, "extreme")
			}
			return step * spec.Ptr(rapid.IntRange(1, 300).Draw(t, "n"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "run") {
					if p := pointer.Draw(t, "p"); want[p] == nil {
						want[p] = new(block)
						for _, table := range tables {
							table.insertLocked(p, want[p])
						}
					}
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "run") {
					if p := pointer.Draw(t, "p"); want[p] != nil {
						delete(want, p)
						for _, table := range tables {
							table.eraseLocked(p)
						}
					}
				}
			},
			"": func(t *rapid.T) {
				for range 20 {
					p := pointer.Draw(t, "p")
					for _, table := range tables {
						if got := table.findLocked(p); got != want[p] {
							t.Fatalf("get(%v) = %p, want %p", p, got, want[p])
						}
					}
					if found, certain := tables[1].has(p); !certain || found != (want[p] != nil) {
						t.Fatalf("has(%v) = %v, %v; the map has %p", p, found, certain, want[p])
					}
				}
				for _, table := range tables {
					checkSlots(t, table, len(want))
				}
			},
		})
	})
}

// checkSlots counts the slots of a table.
func checkSlots(t *rapid.T, table *pointerTable, live int) {
	counted := 0
	for i := range table.groups {
		for _, s := range table.groups[i] {
			if (s.key != 0) != (s.block != nil) {
				t.Fatal("a slot has a key and no block, or the reverse")
			}
			if s.key != 0 {
				counted++
			}
		}
	}
	if table.used != live || counted != live {
		t.Fatalf("the table says %d used, there are %d; %d are allocated", table.used, counted, live)
	}
	if slots := groupSize * len(table.groups); 2*table.used > slots+1 {
		t.Fatalf("%d of %d slots are in use: searches would get long", table.used, slots)
	}
}

// TestPointerTableNeverFinds: what is not allocated is not found, nor is the null pointer.
func TestPointerTableNeverFinds(t *testing.T) {
	table := pointerTable{shared: true}
	absent := func(pointers ...spec.Ptr) {
		t.Helper()
		for _, p := range pointers {
			if found, _ := table.has(p); found || table.findLocked(p) != nil {
				t.Errorf("%v is in the table", p)
			}
		}
	}
	absent(0, 1<<64-1, 512)
	for p := spec.Ptr(512); p < 512*40; p += 512 {
		table.insertLocked(p, new(block))
	}
	for p := spec.Ptr(512); p < 512*40; p += 1024 {
		table.eraseLocked(p)
	}
	absent(0, 1<<64-1, 512, 513, 1025)
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
	if n := len(table.groups); n > fewestGroups {
		t.Errorf("10 pointers are allocated, and the table has %d groups of slots", n)
	}
}

// TestPointerTableIsSparse: of a small table at most a quarter of the slots is used, of a large one
// at most half.
func TestPointerTableIsSparse(t *testing.T) {
	var table pointerTable
	for used := 1; len(table.groups) <= 2*sparseGroups; used++ {
		table.insertLocked(spec.Ptr(used)*512, new(block))
		part := 2
		if len(table.groups) <= sparseGroups {
			part = 4
		}
		if slots := groupSize * len(table.groups); part*used > slots || len(table.groups) > fewestGroups && 2*4*used < slots {
			t.Fatalf("%d pointers are allocated, and the table has %d slots", used, slots)
		}
	}
}

// TestPointerTableOfCrowdedHomes does the same to a table whose pointers have one of two homes, one
// of which is the last group, and to a map. So groups are full, and pointers are behind their
// homes, at the beginning of the table too.
func TestPointerTableOfCrowdedHomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tables := []*pointerTable{{}, {shared: true}}
		for _, table := range tables {
			table.growLocked()
		}
		const last = fewestGroups - 1
		var pointers []spec.Ptr // as many as may be used before the table grows
		for p, of := spec.Ptr(512), map[int]int{}; len(pointers) < tables[0].limit; p += 512 {
			if home := tables[0].home(uint64(p)); (home == last || home == last-1) && of[home] < tables[0].limit/2 {
				of[home]++
				pointers = append(pointers, p)
			}
		}
		want := map[spec.Ptr]*block{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			p := rapid.SampledFrom(pointers).Draw(t, "p")
			b := want[p]
			if b == nil {
				want[p] = new(block)
			} else {
				delete(want, p)
			}
			for _, table := range tables {
				if b == nil {
					table.insertLocked(p, want[p])
				} else {
					table.eraseLocked(p)
				}
				for _, p := range pointers {
					if got := table.findLocked(p); got != want[p] {
						t.Fatalf("get(%v) = %p, want %p", p, got, want[p])
					}
				}
				checkSlots(t, table, len(want))
			}
			for _, p := range pointers {
				if found, _ := tables[1].has(p); found != (want[p] != nil) {
					t.Fatalf("has(%v) = %v; the map has %p", p, found, want[p])
				}
			}
		}
	})
}

// TestPointersAreSpread: about as many pointers are at home in the upper half of the table as in
// the lower one.
func TestPointersAreSpread(t *testing.T) {
	table := pointerTable{}
	const pointers = 1000
	upper := 0
	for i := range spec.Ptr(pointers) {
		table.insertLocked((i+1)*512, new(block))
	}
	for i := range uint64(pointers) {
		if 2*table.home((i+1)*512) >= len(table.groups) {
			upper++
		}
	}
	if upper < pointers/3 || upper > pointers*2/3 {
		t.Errorf("%d of %d pointers are at home in the upper half", upper, pointers)
	}
}

// TestPointerTableReaders: a reader without the mutex finds a pointer that stays allocated,
// and does not find one that never is, whenever it is certain, whatever the writer does.
func TestPointerTableReaders(t *testing.T) {
	table := pointerTable{shared: true}
	const fixed, never = spec.Ptr(7 * 512), spec.Ptr(3 * 512)
	table.insertLocked(fixed, new(block))
	var done atomic.Bool
	var certainly atomic.Int64
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				if found, certain := table.has(fixed); certain && !found {
					t.Error("a pointer that is allocated was not found")
					return
				}
				found, certain := table.has(never)
				if certain && found {
					t.Error("a pointer that is not allocated was found")
					return
				}
				if certain {
					certainly.Add(1)
				}
			}
		})
	}
	for i := 0; i < 20_000 || certainly.Load() < 100 && !t.Failed(); i++ {
		p := spec.Ptr(i%1000+8) * 512
		if table.findLocked(p) != nil {
			table.eraseLocked(p)
		} else {
			table.insertLocked(p, new(block))
		}
	}
	done.Store(true)
	readers.Wait()
}

// TestPointerTableUncertain: a reader is not certain while the table changes.
func TestPointerTableUncertain(t *testing.T) {
	table := pointerTable{shared: true}
	table.insertLocked(512, new(block))
	table.changeLocked(func() {
		if _, certain := table.has(512); certain {
			t.Error("a reader is certain during a change")
		}
	})
	if found, certain := table.has(512); !found || !certain {
		t.Error("the pointer is not found after the change")
	}
}

// TestPointerTableChangesAreMarked: in a table that is shared, the removal of a pointer is a change
// that readers can notice. In one that is not, there are no readers.
func TestPointerTableChangesAreMarked(t *testing.T) {
	for shared, want := range map[bool]uint64{false: 0, true: 2} { // 2: odd meanwhile
		table := pointerTable{shared: shared}
		for i := range spec.Ptr(100) {
			table.insertLocked(512*(i+1), new(block))
		}
		for i := range spec.Ptr(100) {
			before := table.changes.Load()
			table.eraseLocked(512 * (i + 1))
			if got := table.changes.Load() - before; got != want {
				t.Errorf("shared %v: a removal adds %d to changes, not %d", shared, got, want)
			}
		}
	}
}
