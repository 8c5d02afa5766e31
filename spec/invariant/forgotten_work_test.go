package invariant

import (
	"testing"

	"gaugeblock/spec"
)

// TestWorkThatIsOverIsForgotten: freed memory is remembered as long as work may use it.
func TestWorkThatIsOverIsForgotten(t *testing.T) {
	h := NewHistory()
	use := func(at spec.Ptr) {
		h.Allocated(Allocation{Stream: 1, Ptr: at, Bytes: 512})
		h.StreamRecorded(at, 0, 2)
		h.Submitted(0, 2)
		h.Freed(at)
	}
	for i := range 100 {
		use(spec.Ptr(0x10000 + 0x1000*i))
	}
	if len(h.retired) != 100 {
		t.Errorf("%d pieces of memory are remembered that work uses, want 100", len(h.retired))
	}
	h.StreamSynchronized(0, 2)
	use(0x1000)
	if len(h.retired) != 1 {
		t.Errorf("%d pieces of memory are remembered that work uses, want one", len(h.retired))
	}
}
