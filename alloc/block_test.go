package alloc

import (
	"testing"
	"unsafe"
)

// TestBlockIsOneCacheLine: a block is as large as a cache line, and begins where one begins,
// also when its struct has been used before.
func TestBlockIsOneCacheLine(t *testing.T) {
	const cacheLine = 64
	if n := unsafe.Sizeof(block{}); n != cacheLine {
		t.Errorf("a block is %d bytes", n)
	}
	d := new(device)
	s := new(segment)
	seen := map[*block]bool{}
	for range 1000 {
		b := d.newBlockLocked(s, 512, 512)
		if uintptr(unsafe.Pointer(b))%cacheLine != 0 {
			t.Fatalf("a block is at %p", b)
		}
		if seen[b] {
			t.Fatal("a block is used twice")
		}
		seen[b] = true
	}
	b := d.newBlockLocked(s, 512, 512)
	b.writeRare().gcCountBase, b.rare.contextWhenAllocated, b.rare.eventCount = 1, "context", 2
	b.addStreamUse(streamUse{})
	d.recycleBlockLocked(b)
	again := d.newBlockLocked(s, 1024, 2048)
	if r := again.readRare(); again != b || r.isUsed() || r.gcCountBase != 0 || r.contextWhenAllocated != nil {
		t.Errorf("a block that is used again is %+v with %+v", again, again.rare)
	}
}
