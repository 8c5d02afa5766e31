package happensbefore_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// TestPasts holds clocks that are joined later to vector clocks that are joined at once: maps that
// share nothing, with many lanes, some of which are retired and reused.
func TestPasts(t *testing.T) {
	happensbefore.SmallPasts(t)
	rapid.Check(t, func(t *rapid.T) {
		lanes := rapid.IntRange(2, 40).Draw(t, "lanes")
		p := pastsProgram{order: happensbefore.New()}
		p.order.JoinLater()
		for range lanes {
			p.lanes = append(p.lanes, p.order.NewLane(spec.DeviceStream{}))
			p.twins = append(p.twins, map[int]happensbefore.Position{})
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			lane := random.IntN(lanes)
			switch random.IntN(16) {
			case 0:
				p.keep(lane)
			case 1:
				p.waitForKept(lane, random)
			case 2:
				p.forget(random)
			case 3:
				p.reuse(lane)
			case 4:
				p.check(t)
			case 5, 6, 7, 8:
				p.submit(lane)
			default:
				p.wait(lane, random.IntN(lanes))
			}
		}
		p.check(t)
	})
}

// pastsProgram does the same to an Order and to maps.
type pastsProgram struct {
	order *happensbefore.Order
	lanes []*happensbefore.Lane
	twins []map[int]happensbefore.Position // by lane
	works []happensbefore.Epoch            // that are remembered
	kept  []keptClock
}

type keptClock struct {
	clock happensbefore.Clock
	twin  map[int]happensbefore.Position
}

func (p *pastsProgram) submit(lane int) {
	e := p.order.Submit(p.lanes[lane]).Epoch
	p.works = append(p.works, e)
	p.twins[lane][e.Lane] = e.Position
}

func (p *pastsProgram) wait(lane, awaited int) {
	var event happensbefore.Clock
	p.order.Record(&event, p.lanes[awaited])
	p.order.Wait(p.lanes[lane], event)
	p.join(lane, p.twins[awaited])
}

func (p *pastsProgram) join(lane int, twin map[int]happensbefore.Position) {
	for other, at := range twin {
		p.twins[lane][other] = max(p.twins[lane][other], at)
	}
}

func (p *pastsProgram) keep(lane int) {
	p.kept = append(p.kept, keptClock{p.lanes[lane].Clock(), maps.Clone(p.twins[lane])})
}

func (p *pastsProgram) waitForKept(lane int, random *rand.Rand) {
	if len(p.kept) > 0 {
		k := p.kept[random.IntN(len(p.kept))]
		p.order.Wait(p.lanes[lane], k.clock)
		p.join(lane, k.twin)
	}
}

// reuse retires a lane. Its number may serve the next one, since its work is forgotten.
func (p *pastsProgram) reuse(lane int) {
	number := p.lanes[lane].Last().Lane
	p.works = slices.DeleteFunc(p.works, func(e happensbefore.Epoch) bool { return e.Lane == number })
	p.order.Retire(p.lanes[lane])
	remembered := make([]bool, p.order.Lanes())
	for _, e := range p.works {
		remembered[e.Lane] = true
	}
	p.order.ForgetLanes(remembered)
	p.lanes[lane], p.twins[lane] = p.order.NewLane(spec.DeviceStream{}), map[int]happensbefore.Position{}
}

// forget drops some of the work, and the pasts that only matter for that.
func (p *pastsProgram) forget(random *rand.Rand) {
	p.works = slices.DeleteFunc(p.works, func(happensbefore.Epoch) bool { return random.IntN(4) == 0 })
	oldest := make([]happensbefore.Position, p.order.Lanes())
	for _, e := range p.works {
		if at := &oldest[e.Lane]; *at == 0 || e.Position < *at {
			*at = e.Position
		}
	}
	p.order.ForgetPasts(oldest, 0)
}

// check asks each clock for all work that is remembered.
func (p *pastsProgram) check(t *rapid.T) {
	clocks := p.kept
	for lane, l := range p.lanes {
		clocks = append(clocks, keptClock{l.Clock(), p.twins[lane]})
	}
	for i, k := range clocks {
		for _, e := range p.works {
			if got := k.clock.Covers(e); got != (k.twin[e.Lane] >= e.Position) {
				t.Fatalf("clock %d covers %v: %v", i, e, got)
			}
		}
	}
}

// TestReusedNumber: to have heard of a lane is not to have heard of an earlier one with its number.
func TestReusedNumber(t *testing.T) {
	order := happensbefore.New()
	order.JoinLater()
	first, other, waiting := order.NewLane(spec.DeviceStream{}), order.NewLane(spec.DeviceStream{}), order.NewLane(spec.DeviceStream{})
	work := order.Submit(other).Epoch
	order.Wait(first, other.Clock())
	kept := first.Clock()
	order.Retire(first)
	remembered := make([]bool, order.Lanes())
	remembered[work.Lane] = true
	order.ForgetLanes(remembered)
	second := order.NewLane(spec.DeviceStream{})
	if second.Last().Lane != first.Last().Lane {
		t.Fatal("the number is not reused")
	}
	order.Submit(second)
	order.Wait(waiting, second.Clock())
	if order.Before(work, waiting) {
		t.Error("the second lane has waited for nothing")
	}
	order.Wait(waiting, kept)
	if !order.Before(work, waiting) {
		t.Error("the first lane had waited for the work")
	}
}
