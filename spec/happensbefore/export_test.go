package happensbefore

import (
	"fmt"
	"testing"

	"gaugeblock/spec"
)

// SmallPasts makes searches so short, and lets pasts be forgotten so early, that small programs
// get there.
func SmallPasts(t *testing.T) {
	before := []int{mostSteps, fewSteps, fewPasts, credit, mostCredit, mostJoined}
	mostSteps, fewSteps, fewPasts, credit, mostCredit, mostJoined = 4, 2, 4, 1, 8, 300
	t.Cleanup(func() {
		mostSteps, fewSteps, fewPasts, credit, mostCredit, mostJoined = before[0], before[1], before[2], before[3], before[4], before[5]
	})
}

// LeaveVersions lets a lane's clock have so many more versions until there is work.
func LeaveVersions(l *Lane, n int) { l.clock.own.stamp += 1<<versionBits - 1 - stamp(n) }

// Cost says what an order and clocks hold in memory, what has been searched, and what is to be gathered.
func Cost(o *Order, clocks []Clock) string {
	m := memory{map[*past]bool{}, map[*positions]bool{}, map[any]bool{}, 0, 0}
	versions, heard := stamp(0), uint64(0)
	for _, l := range o.lanes {
		m.clock(l.clock)
		versions += l.clock.own.stamp % (1 << versionBits)
		heard += l.heard
	}
	for _, t := range o.threads {
		m.clock(t.seen)
	}
	gathered := ""
	for dev := range spec.Device(len(o.devices)) {
		d := o.devices[dev]
		m.clock(d.all.clock)
		m.clock(d.blocking.clock)
		m.clock(d.legacy)
		gathered += fmt.Sprintf(", %d+%d lanes to gather, %d releases", len(d.all.changed), len(d.blocking.changed), d.released)
	}
	for _, c := range clocks {
		m.clock(c)
	}
	for _, p := range o.young {
		m.past(p)
	}
	joined := 0
	for p := range m.pasts {
		if p.search == whole {
			joined++
		}
	}
	return fmt.Sprintf("%d pasts, %d whole, %d young of %d, %d trees, %d arrays, %d clocks with the last joined, %d partial, versions %d, %d, %d, %d retired, searches %d, credit %d%s",
		len(m.pasts), joined, len(o.young), o.keep, len(m.trees), len(m.arrays), m.holding, m.partial, versions, o.versions, heard, len(o.retired), o.searches, o.credit, gathered)
}

// memory is what clocks reach.
type memory struct {
	pasts            map[*past]bool
	trees            map[*positions]bool
	arrays           map[any]bool
	holding, partial int
}

func (m *memory) clock(c Clock) {
	m.tree(c.tree)
	m.past(c.later)
	if c.known != nil {
		m.holding++
	}
	if c.partial {
		m.partial++
	}
}

func (m *memory) past(p *past) {
	if p == nil || m.pasts[p] {
		return
	}
	m.pasts[p] = true
	m.past(p.before)
	m.past(p.from)
	m.tree(p.tree)
}

func (m *memory) tree(t *positions) {
	if t == nil || m.trees[t] {
		return
	}
	m.trees[t] = true
	if t.at != nil {
		m.arrays[t.at] = true
	}
	if t.below != nil {
		m.arrays[t.below] = true
		for _, below := range t.below {
			m.tree(below)
		}
	}
}
