package upstream

import (
	"math/rand/v2"
	"testing"

	"gaugeblock/spec"
)

// Upstream (class TestCudaAllocator): ten thousand times a tensor of 2 to 20 MiB is
// made and filled with a value of its own, or one is looked at, which must still
// hold its value, and freed, or the cache is emptied.
func TestCudaAllocator_AllocatorFuzz(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		type filled struct {
			tensor
			value byte
		}
		const most = spec.GiB / 10
		random := rand.New(rand.NewPCG(123, 0))
		var out []filled
		var held uint64
		made := 0
		alloc := func() {
			bytes := 2*spec.MiB + 4*random.Uint64N(18*spec.MiB/4)
			made++
			value := byte(made % 251)
			out = append(out, filled{p.full(mainStream, bytes, value), value})
			held += bytes
		}
		free := func() {
			i := random.IntN(len(out))
			x := out[i]
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
			p.holds(x.tensor, x.value)
			p.free(x.tensor)
			held -= x.Bytes
		}
		for range 10000 {
			for held >= most {
				free()
			}
			switch n := random.IntN(21); {
			case n < 10:
				alloc()
			case n < 20 && len(out) > 0:
				free()
			default:
				p.emptyCache()
				p.check()
			}
		}
	})
}
