package check

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestManyFrees: a second free is recognised, however many frees there were in between, and
// memory that never was is not taken for it.
func TestManyFrees(t *testing.T) {
	remembers(t, 5000)
	m := newMemory()
	const frees = 6000
	for id := range int64(frees) {
		m.end(&allocation{id: 2 * id, ptr: spec.Ptr(id)}, 1)
	}
	if len(m.latest) != mostFreed || len(m.oldest) != mostFreed || m.live != 0 {
		t.Errorf("%d allocations are remembered with their lines, %d in order, %d are live", len(m.latest), len(m.oldest), m.live)
	}
	for _, id := range []int64{0, 500, 999, 1000, frees - 1} {
		if !m.wasFreed(2 * id) {
			t.Errorf("number %d was freed, and is not known", 2*id)
		}
		if m.wasFreed(2*id + 1) {
			t.Errorf("number %d was never there, and counts as freed", 2*id+1)
		}
	}
}

// remembers lets few freed allocations be remembered with their lines.
func remembers(t *testing.T, few int) {
	was := mostFreed
	mostFreed = few
	t.Cleanup(func() { mostFreed = was })
}

// TestFreedLongAgo: of a second free it is told where the first was, or that it was long ago; also of a number that is
// allocated again.
func TestFreedLongAgo(t *testing.T) {
	remembers(t, 2)
	log := csvHeader
	line := func(action, pointer string) { log += "1,1," + action + "," + pointer + ",512,0\n" }
	for _, pointer := range []string{"0x100000", "0x200000", "0x300000"} {
		line("allocate", pointer)
		line("free", pointer)
	}
	line("free", "0x100000")
	line("free", "0x200000")
	line("allocate", "0x200000")
	line("allocate", "0x400000")
	line("free", "0x400000")
	line("free", "0x200000")
	line("free", "0x200000")
	line("free", "0x500000")
	checkSmallLogs(t, []smallLog{{"long ago", log, []string{
		noWork, noDriver, "double free: 0x100000 was freed before, more than 2 frees ago", "double free: 0x200000 (512 bytes, allocated in line 4) was freed before, in line 5",
		"double free: 0x200000 (512 bytes, allocated in line 10) was freed before, in line 13", "foreign free: 0x500000 is not allocated, and was not before, as far as is remembered",
	}}})
}

// TestFreedBefore compares the ranges with a set of numbers.
func TestFreedBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, set := newMemory(), map[int64]bool{}
		for _, id := range rapid.SliceOf(rapid.Int64Range(0, 40)).Draw(t, "numbers") {
			m.addBefore(id)
			set[id] = true
		}
		ranges := 0
		for id := range int64(42) {
			if m.wasFreed(id) != set[id] {
				t.Fatalf("%d: freed %v, want %v", id, m.wasFreed(id), set[id])
			}
			if set[id] && !set[id-1] {
				ranges++
			}
		}
		if m.before.Len() != ranges {
			t.Fatalf("%d ranges, want %d", m.before.Len(), ranges)
		}
	})
}

// TestNumbers compares what has a number with two tables: of what is allocated, and of what was
// freed last.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		allocated, freed := map[int64]*allocation{}, map[int64]*allocation{}
		for line := range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.Int64Range(0, 3).Draw(t, "number")
			switch a := allocated[id]; rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				allocated[id] = &allocation{id: id, line: line}
				m.put(allocated[id])
			case 1: // memory of another process is opened under the number
				allocated[id] = &allocation{id: id, line: line, opened: true}
				m.name(allocated[id])
			case 2:
				delete(allocated, id)
				m.forget(id)
			default:
				if a == nil {
					break
				}
				delete(allocated, id)
				freed[id] = a
				m.end(a, line)
			}
			for id := range int64(4) {
				if m.allocated(id) != allocated[id] || m.freed(id) != freed[id] || m.wasFreed(id) != (freed[id] != nil) {
					t.Fatalf("number %d: allocated %v, freed %v", id, m.allocated(id), m.freed(id))
				}
			}
			if list := m.byAge(); m.live != len(allocated) || len(list) != len(allocated) {
				t.Fatalf("%d and %d are allocated, want %d", m.live, len(list), len(allocated))
			}
		}
	})
}
