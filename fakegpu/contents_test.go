package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestWithoutEffects: kernels change nothing, whether they are done at once or behind a gate; what
// the host is called for is.
func TestWithoutEffects(t *testing.T) {
	for _, effects := range []bool{true, false} {
		g := New(Config{})
		if !effects {
			g.WithoutEffects()
		}
		held := newStream(t, g)
		p, err := g.Malloc(0, 512)
		must(t, err)
		called := 0
		for _, s := range []spec.Stream{0, held} {
			if s == held {
				must(t, g.Busy(0, s))
			}
			r := spec.Range{Ptr: p, Bytes: 256}
			must(t, g.Launch(spec.Launch{Stream: s, Writes: []spec.Range{r, {Ptr: p + 4096, Bytes: 8}}}))
			must(t, g.HostFunction(0, s, func() { called++ }))
			if s == held {
				must(t, g.Drain(0, s))
			}
			if n := len(g.Violations()); (n > 0) != effects {
				t.Errorf("effects %v: %d violations", effects, n)
			}
		}
		written, err := g.ReadBack(0, 0, spec.Range{Ptr: p, Bytes: 8})
		must(t, err)
		if unwritten := written[0] == 0xa5 && written[7] == 0xa5; unwritten == effects {
			t.Errorf("effects %v: the memory holds %x", effects, written)
		}
		if called != 2 {
			t.Errorf("effects %v: %d functions of the host's were called, want 2", effects, called)
		}
	}
}
