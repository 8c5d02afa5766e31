package fakegpu

import (
	"testing"
)

// TestDigestsOfHostMemory: each byte counts, and where it is.
func TestDigestsOfHostMemory(t *testing.T) {
	digest := func(memory ...byte) uint64 {
		return digestHost([]part{{backing: &backing{host: memory}, to: uint64(len(memory))}})
	}
	seen := map[uint64]string{}
	for at := range 17 {
		memory := make([]byte, 17)
		memory[at] = 1
		seen[digest(memory...)] = "one byte"
	}
	seen[digest(make([]byte, 17)...)] = "zero"
	if len(seen) != 18 {
		t.Errorf("%d different digests of 18 different contents", len(seen))
	}
}
