package fakegpu

import (
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// TestGroupThatGrows: what is known of the accesses of a lifetime does not hold for one
// that comes later, as that of a graph whose memory was reused meanwhile.
func TestGroupThatGrows(t *testing.T) {
	d := &detector{order: happensbefore.New()}
	p := &patch{Range: spec.Range{Ptr: 0x1000, Bytes: 512}}
	lane := func(s spec.Stream) *happensbefore.Lane { return d.order.NewLane(spec.DeviceStream{Stream: s}) }
	a, b, c := lane(1), lane(2), lane(3)
	first, second := &Lifetime{Number: 1, Range: p.Range}, &Lifetime{Number: 2, Range: p.Range}
	write := func(l *happensbefore.Lane, life *Lifetime) int {
		m := moment{Moment: d.order.Submit(l)}
		d.uses.number++
		d.meet(p, &m, &footprint{
			Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: true, lifetime: life,
			act: &act{work: d.uses.number, kind: workKernel, stream: l.Stream().Stream},
		})
		return len(d.found)
	}
	write(a, first)
	d.order.Wait(b, a.Clock())
	if n := write(b, second); n != 0 {
		t.Fatalf("%d hazards between accesses in order: %v", n, d.found)
	}
	if n := write(c, first); n != 1 {
		t.Fatalf("%d hazards, want that of c and b: %v", n, d.found)
	}
	if n := write(b, second); n != 2 {
		t.Fatalf("%d hazards, want that of b and c as well: %v", n, d.found)
	}
}

// TestManyReaders: an access supersedes all that it comes after, also behind others that it does not
// come after and that are more than are looked at when it is added.
func TestManyReaders(t *testing.T) {
	for _, writes := range []bool{false, true} {
		d := &detector{order: happensbefore.New()}
		p := &patch{Range: spec.Range{Ptr: 0x1000, Bytes: 512}}
		lifetime := &Lifetime{Number: 1, Range: p.Range}
		const apart = few + 1
		var lanes []*happensbefore.Lane
		for i := range 10 * few {
			lanes = append(lanes, d.order.NewLane(spec.DeviceStream{Stream: spec.Stream(i + 1)}))
		}
		use := func(l *happensbefore.Lane, write bool) {
			m := moment{Moment: d.order.Submit(l)}
			d.uses.number++
			d.meet(p, &m, &footprint{Range: p.Range, Epoch: m.Epoch, number: d.uses.number, write: write, lifetime: lifetime, act: &act{}})
		}
		for range 100 {
			for _, l := range lanes[1:] {
				d.order.Wait(l, lanes[0].Clock())
				use(l, false)
			}
			for _, l := range lanes[1 : len(lanes)-apart] {
				d.order.Wait(lanes[0], l.Clock())
			}
			use(lanes[0], writes)
		}
		p.pruneAll()
		left := 0
		if p.each(func(*footprint) { left++ }); left != 1+apart {
			t.Errorf("writes %v: %d accesses are left, want the latest of each of %d lanes", writes, left, 1+apart)
		}
	}
}
