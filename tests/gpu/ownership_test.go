package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gaugeblock/spec"
)

// TestOwnership: random programs on four streams, any of which may be held back at any
// time. All memory is filled by its owner with a value of its own when it is obtained.
// Every use, on whatever stream, copies a part of it to a witness, behind the owner's
// work and recorded. In the end every witness must have what the owner had written: in
// between nobody else has had the memory. The same programs must find the two broken
// allocators.
func TestOwnership(t *testing.T) {
	for _, test := range soundAndBroken {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, func(l *lab) {
				const programs = 24
				var wrong error
				for seed := uint64(0); seed < programs && wrong == nil; seed++ {
					settings := []string{"", "expandable_segments:True", "roundup_power2_divisions:4"}[seed%3]
					p := newOwners(l, test.as(l.reference(test.on(l.device), settings)), seed)
					wrong = p.run()
					p.end()
				}
				l.verdict(wrong, test.broken)
			})
		})
	}
}

const (
	ownerStreams = 4
	ownerSteps   = 250
	witnessBytes = 4 * spec.KiB
)

// owners is such a program.
type owners struct {
	*lab
	allocator spec.Allocator
	random    *rand.Rand
	seed      uint64
	on        [ownerStreams]spec.Stream
	releases  [ownerStreams]func() // of those that are held
	live      []owned
	values    byte
	witnesses spec.Range // room for one a step
	expected  []byte     // what they must have
	behind    spec.EventHandle
}

// owned is allocated memory. Only its own stream has written it.
type owned struct {
	spec.Range
	stream int
	value  byte
}

func newOwners(l *lab, a spec.Allocator, seed uint64) *owners {
	p := &owners{
		lab: l, allocator: a, seed: seed, random: rand.New(rand.NewPCG(seed, 0)),
		witnesses: l.raw(ownerSteps * witnessBytes), behind: l.event(),
	}
	for i := range p.on {
		p.on[i] = l.stream(0)
	}
	return p
}

func (p *owners) run() error {
	for range ownerSteps {
		switch choice := p.random.IntN(100); {
		case choice < 35 || len(p.live) == 0:
			p.more()
		case choice < 65:
			p.use(p.random.IntN(len(p.live)), p.random.IntN(ownerStreams))
		case choice < 90:
			p.giveBack(p.random.IntN(len(p.live)))
		default:
			p.holdOrLetGo(p.random.IntN(ownerStreams))
		}
	}
	p.letAllGo()
	for i, value := range p.expected {
		if err := p.has(0, p.on[0], p.witness(i), value); err != nil {
			return fmt.Errorf("program %d, use %d: %w", p.seed, i, err)
		}
	}
	return nil
}

func (p *owners) more() {
	sizes := []uint64{4 * spec.KiB, 64 * spec.KiB, spec.MiB, 3 * spec.MiB, 12 * spec.MiB}
	m := owned{stream: p.random.IntN(ownerStreams)}
	m.Range = p.obtain(p.allocator, 0, p.on[m.stream], sizes[p.random.IntN(len(sizes))])
	p.values++
	m.value = p.values
	p.must(p.Fill(0, p.on[m.stream], m.Range, m.value))
	p.live = append(p.live, m)
}

// witness is where the result of a use goes.
func (p *owners) witness(use int) spec.Range {
	return spec.Range{Ptr: p.witnesses.Ptr + spec.Ptr(uint64(use)*witnessBytes), Bytes: witnessBytes}
}

// use reads a part of the memory on a stream.
func (p *owners) use(which, stream int) {
	m := p.live[which]
	if stream != m.stream {
		p.must(p.RecordEvent(p.behind, 0, p.on[m.stream]))
		p.must(p.WaitEvent(0, p.on[stream], p.behind))
		p.must(p.allocator.RecordStream(m.Ptr, 0, p.on[stream]))
	}
	offset := spec.Ptr(p.random.Uint64N(m.Bytes - witnessBytes + 1))
	p.copyTo(p.witness(len(p.expected)).Ptr, spec.Range{Ptr: m.Ptr + offset, Bytes: witnessBytes}, p.on[stream])
	p.expected = append(p.expected, m.value)
}

func (p *owners) giveBack(which int) {
	p.must(p.allocator.Free(p.live[which].Ptr))
	p.live[which] = p.live[len(p.live)-1]
	p.live = p.live[:len(p.live)-1]
}

func (p *owners) holdOrLetGo(stream int) {
	if p.releases[stream] != nil {
		p.releases[stream]()
		p.releases[stream] = nil
		return
	}
	p.releases[stream] = p.held(0, p.on[stream])
}

// letAllGo lets every stream go on and waits for it.
func (p *owners) letAllGo() {
	for i, release := range p.releases {
		if release != nil {
			release()
			p.releases[i] = nil
		}
	}
	p.must(p.SynchronizeDevice(0))
}

func (p *owners) end() {
	p.letAllGo()
	for len(p.live) > 0 {
		p.giveBack(0)
	}
	p.must(p.DestroyEvent(p.behind))
	p.must(p.Free(0, p.witnesses.Ptr))
	p.putAway()
}
