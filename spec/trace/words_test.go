package trace

import (
	"testing"
)

// TestRangesInWords: the parts of allocations that work reads and writes.
func TestRangesInWords(t *testing.T) {
	op := &Op{Kind: OpKernel, Stream: 2, Reads: []OpRange{{ID: 1}, {ID: 2, Offset: 512}}, Writes: []OpRange{{ID: 3, Offset: 4, Bytes: 5}}}
	if got, want := op.InWords(), "kernel on stream 2, reads id 1 and id 2 from 512 on, writes 5 bytes from 4 of id 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
