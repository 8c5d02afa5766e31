package trace

import (
	"io"
	"testing"

	"gaugeblock/spec"
)

// TestWriteErrorStays: after a write has failed every operation gets its error, a wrong one too.
func TestWriteErrorStays(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{Streams: []spec.Stream{0}, TotalMemory: spec.GiB})
	if err != nil {
		t.Fatal(err)
	}
	w.err = io.ErrShortWrite
	for _, op := range []*Op{{Kind: OpEmptyCache}, {Kind: "none"}} {
		if err := w.Write(op); err != io.ErrShortWrite {
			t.Errorf("%s: %v", op.Kind, err)
		}
	}
}
