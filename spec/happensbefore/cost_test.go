package happensbefore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// TestCost: what clocks hold in memory and how much is searched for stays as it was, for random programs. Who changes
// the order must look at the difference; that the answers are right is for the other tests.
func TestCost(t *testing.T) {
	var out strings.Builder
	for _, later := range []string{"at once", "later", "later, short searches"} {
		if later == "later, short searches" {
			happensbefore.SmallPasts(t)
		}
		for seed := range uint64(20) {
			p := newCostly(seed, later != "at once")
			for step := range 301 {
				if p.act(); step > 0 && step%100 == 0 {
					fmt.Fprintf(&out, "%s, seed %d, step %d: of %d works %d come before and %d are seen by all, %s\n", later, seed, step, p.asked, p.before, p.seen, happensbefore.Cost(p.order, p.events))
				}
			}
			fmt.Fprintln(&out, p.compare())
		}
	}
	for _, later := range []bool{false, true} {
		p := newCostly(0, later)
		for range 200 { // lanes that come and go
			l := p.order.NewLane(spec.DeviceStream{})
			p.order.SetBlocking(l)
			p.order.Submit(l)
			p.order.Retire(l)
			p.order.ForgetLanes(make([]bool, p.order.Lanes()))
		}
		fmt.Fprintln(&out, happensbefore.Cost(p.order, nil))
	}
	kept.Compare(t, "testdata/cost", out.String())
}

// costly is a program of lanes on two devices, of which some block.
type costly struct {
	random              *rand.Rand
	order               *happensbefore.Order
	lanes               []*happensbefore.Lane
	events              []happensbefore.Clock
	works               []happensbefore.Epoch
	later               bool
	asked, before, seen int
}

func newCostly(seed uint64, later bool) *costly {
	p := &costly{random: rand.New(rand.NewPCG(seed, 0)), order: happensbefore.New(), later: later, events: make([]happensbefore.Clock, 6)}
	if later {
		p.order.JoinLater()
	}
	if seed%5 == 4 {
		p.order.ExpectStrangers()
	}
	for i := range 2 + p.random.IntN(70) {
		p.lanes = append(p.lanes, p.lane(i))
	}
	return p
}

func (p *costly) lane(i int) *happensbefore.Lane {
	s := spec.DeviceStream{Device: spec.Device(i % 2), Stream: spec.Stream(i)}
	if i%9 == 8 {
		return p.order.NewGraphLane(s)
	}
	l := p.order.NewLane(s)
	if i%3 == 0 {
		p.order.SetBlocking(l)
	}
	return l
}

// act does one thing, mostly waiting and submitting.
func (p *costly) act() {
	i := p.random.IntN(len(p.lanes))
	l, event := p.lanes[i], &p.events[p.random.IntN(len(p.events))]
	switch p.random.IntN(24) {
	case 0:
		p.order.See(l.Clock())
	case 1:
		p.order.SetThread(spec.Thread(p.random.IntN(3)))
	case 2:
		p.order.OrderThreads(spec.Thread(p.random.IntN(3)), spec.Thread(p.random.IntN(3)))
	case 3:
		p.works = append(p.works, p.order.SubmitHost().Epoch)
	case 4:
		p.order.WaitDevice(l)
	case 5:
		if i%9 != 8 && i%3 != 0 {
			p.order.GatherBlocking(l)
			p.order.ReleaseBlocking(l)
		}
	case 6:
		if len(p.works) > 0 {
			p.order.SeeWork(p.works[p.random.IntN(len(p.works))])
		}
	case 7:
		if p.forget(); p.random.IntN(2) == 0 {
			event.Join(p.events[p.random.IntN(len(p.events))])
		}
	case 8:
		p.order.Retire(l)
		p.lanes[i] = p.lane(i)
	case 9:
		p.order.SynchronizeDevice(spec.Device(i % 2))
	case 10:
		if id := spec.Thread(p.random.IntN(3)); id != p.order.Thread() {
			p.order.EndThread(id)
		}
	case 11, 12, 13:
		p.order.Record(event, l)
	case 14, 15, 16:
		p.order.Wait(l, *event)
	case 17, 18, 19:
		p.works = append(p.works, p.order.Submit(l).Epoch)
	default: // a lane waits for another one
		p.order.Record(event, l)
		p.order.Wait(p.lanes[p.random.IntN(len(p.lanes))], *event)
		p.ask(l)
	}
}

func (p *costly) ask(l *happensbefore.Lane) {
	for _, e := range p.works {
		p.asked++
		if p.order.Before(e, l) {
			p.before++
		}
		if p.order.SeenByAll(e) {
			p.seen++
		}
	}
}

// forget keeps about half of the work, and does so for pasts only where it must.
func (p *costly) forget() {
	p.works = slices.DeleteFunc(p.works, func(happensbefore.Epoch) bool { return p.random.IntN(2) == 0 })
	remembered, oldest := make([]bool, p.order.Lanes()), make([]happensbefore.Position, p.order.Lanes())
	for _, e := range p.works {
		if at := &oldest[e.Lane]; *at == 0 || e.Position < *at {
			*at = e.Position
		}
		remembered[e.Lane] = true
	}
	p.order.ForgetLanes(remembered)
	if p.later && (p.order.PastsDue() || p.random.IntN(4) == 0) {
		p.order.ForgetPasts(oldest, len(p.works)/16)
	}
}

// compare compares clocks whole, for which they are joined.
func (p *costly) compare() string {
	covers, positions := 0, happensbefore.Position(0)
	for _, l := range p.lanes {
		for i, event := range p.events {
			if l.Clock().CoversAll(event) {
				covers += i + 1
			}
		}
		for e := range l.Clock().Each() {
			positions += e.Position + l.Clock().Of(e.Lane)
		}
	}
	return fmt.Sprintf("%d, %d", covers, positions)
}
