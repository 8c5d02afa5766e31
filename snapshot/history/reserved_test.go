package history

import (
	"testing"

	"gaugeblock/spec"
)

// TestReservedMerges: a range of an expandable segment merges with those on both sides.
func TestReservedMerges(t *testing.T) {
	r := func(at spec.Ptr, bytes uint64) reservedRange {
		return reservedRange{Range: spec.Range{Ptr: at, Bytes: bytes}, stream: 7, expandable: true}
	}
	var m reservedMemory
	m.add(r(0x300, 0x100))
	m.add(r(0x100, 0x100))
	if len(m) != 2 || m[0].Ptr != 0x100 {
		t.Fatalf("%+v", m)
	}
	m.add(r(0x200, 0x100))
	if len(m) != 1 || m[0].Range != (spec.Range{Ptr: 0x100, Bytes: 0x300}) {
		t.Errorf("%+v", m)
	}
	plain := r(0x400, 0x100)
	plain.expandable = false
	if m.add(plain); len(m) != 2 {
		t.Errorf("%+v", m)
	}
	for p, want := range map[spec.Ptr]int{0xff: -1, 0x100: 0, 0x3ff: 0, 0x400: 1, 0x500: -1} {
		if got := m.rangeAt(p); got != want {
			t.Errorf("%v is in range %d, not %d", p, got, want)
		}
	}
}
