package check

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestManyFrees: a second free is recognised, however many frees there were in between, and
// memory that never was is not taken for it.
func TestManyFrees(t *testing.T) {
	m := newMemory()
	const frees = mostFreed + 1000
	for id := range int64(frees) {
		m.end(&allocation{id: 2 * id, ptr: spec.Ptr(id)}, 1)
	}
	if len(m.freed) != mostFreed || len(m.oldest) != mostFreed {
		t.Errorf("%d allocations are remembered with their lines, %d in order", len(m.freed), len(m.oldest))
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
