package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestEndLifetimeOnStream: a free that is work of a stream comes after all work on the memory, or
// it is a hazard.
func TestEndLifetimeOnStream(t *testing.T) {
	for _, waits := range []bool{false, true} {
		g := New(Config{Hazards: true})
		one, two := newStream(t, g), newStream(t, g)
		p, err := g.Malloc(0, 512)
		must(t, err)
		r := spec.Range{Ptr: p, Bytes: 512}
		g.BeginLifetime(Lifetime{Range: r, Number: 1})
		must(t, g.Launch(spec.Launch{Stream: one, Writes: []spec.Range{r}}))
		if waits {
			done, err := g.WaitStream(logged(t, g, two), logged(t, g, one))
			if !done || err != nil {
				t.Fatal(done, err)
			}
		}
		must(t, g.EndLifetimeOn(0, two, p+8, "free")) // no lifetime begins there
		if n := g.HazardCount(); n != 0 {
			t.Errorf("%d hazards before the free", n)
		}
		must(t, g.EndLifetimeOn(0, two, p, "free"))
		if n := g.HazardCount(); (n == 0) != waits {
			t.Errorf("the stream waits: %v, %d hazards", waits, n)
		}
	}
	must(t, New(Config{}).EndLifetimeOn(0, 0, 8, "free")) // nothing is followed
}
