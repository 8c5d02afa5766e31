package earlyreuse_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Most hazards are seen in any run, whatever the device does first: what is missing is
// an order, and that does not depend on luck. But an allocator asks the device what
// is over, and what it then does depends on the answer. If it takes a wrong turn only
// after certain answers, its hazard exists only under the execution orders that give
// them. Such an order has to be met: by chance, or by going through all.

// queued is an allocator with one queue for the events of all streams. When it sees an
// event complete it frees the block at the head of the queue, as if events completed
// in the order in which they were recorded. Usually they do.
type queued struct {
	*alloc.Allocator
	gpu   *fakegpu.GPU
	uses  map[spec.Ptr]spec.Stream
	queue []pendingFree
}

type pendingFree struct {
	event spec.EventHandle
	block spec.Ptr
}

func (q *queued) RecordStream(p spec.Ptr, _ spec.Device, s spec.Stream) error {
	q.uses[p] = s
	return nil
}

func (q *queued) Free(p spec.Ptr) error {
	s, used := q.uses[p]
	if !used {
		return q.Allocator.Free(p)
	}
	e, err := q.gpu.CreateEvent(0)
	if err != nil {
		return err
	}
	q.queue = append(q.queue, pendingFree{e, p})
	return q.gpu.RecordEvent(e, 0, s)
}

func (q *queued) Malloc(r spec.Request) (spec.Ptr, error) {
	for _, pending := range q.queue {
		over, err := q.gpu.QueryEvent(pending.event)
		if err != nil {
			return 0, err
		}
		if over {
			head := q.queue[0] // it should be pending
			q.queue = q.queue[1:]
			if err := q.Allocator.Free(head.block); err != nil {
				return 0, err
			}
		}
	}
	return q.Allocator.Malloc(r)
}

// raceOfTwo gives two blocks to two other streams, the second one with more to do, and
// asks for memory again. Only if all of the second one's work is done by then, and none
// of the first one's, does the new owner get the block that the first still reads.
func raceOfTwo(t *testing.T, schedule fakegpu.Schedule) *program {
	t.Helper()
	q := &queued{uses: map[spec.Ptr]spec.Stream{}}
	p := newProgram(t, schedule, "", func(a *alloc.Allocator) spec.Allocator {
		q.Allocator = a
		return q
	})
	q.gpu = p.gpu
	u := p.stream()
	a, b := p.malloc(p.s), p.malloc(p.s)
	p.read(p.t, "first", a)
	for range 3 {
		p.read(u, "second", b)
	}
	p.must(p.allocator.RecordStream(a.Ptr, 0, p.t))
	p.must(p.allocator.RecordStream(b.Ptr, 0, u))
	p.free(a)
	p.free(b)
	p.write(p.s, "overwrite", p.malloc(p.s))
	return p
}

// TestHazardOfSomeOrders: neither the luckiest order nor the laziest shows the fault.
func TestHazardOfSomeOrders(t *testing.T) {
	for name, schedule := range map[string]fakegpu.Schedule{"at once": nil, "eager": fakegpu.Eager(), "lazy": fakegpu.Lazy()} {
		if h := raceOfTwo(t, schedule).gpu.Hazards(); len(h) > 0 {
			t.Errorf("%s: %v", name, h[0])
		}
	}

	orders, bad := 0, 0
	var every fakegpu.Enumerator
	for every.Next() {
		orders++
		if len(raceOfTwo(t, &every).gpu.Hazards()) > 0 {
			bad++
		}
	}
	t.Logf("a hazard in %d of %d orders", bad, orders)
	if bad == 0 || bad > orders/5 {
		t.Errorf("a hazard in %d of %d orders, want some, and no more than a fifth", bad, orders)
	}

	const seeds = 1000
	for seed := range uint64(seeds) {
		p := raceOfTwo(t, fakegpu.Random(seed))
		if len(p.gpu.Hazards()) == 0 {
			continue
		}
		t.Logf("seed %d: %v", seed, p.gpu.Hazards()[0])
		p.want("unordered", `kernel "first"`, `kernel "overwrite"`, fmt.Sprintf("stream %v", p.t))
		again := raceOfTwo(t, fakegpu.Random(seed))
		if diff := cmp.Diff(fmt.Sprint(p.gpu.Hazards()), fmt.Sprint(again.gpu.Hazards())); diff != "" {
			t.Errorf("seed %d shows something else the second time:\n%s", seed, diff)
		}
		return
	}
	t.Errorf("nothing was found with %d seeds", seeds)
}
