// Package refinement is Refinement.tla in Go: each step of the allocator's model is one of an
// abstract memory, under a mapping that reads what the program and the device did (model.Truth)
// and nothing that the allocator remembers.
package refinement

import (
	"math"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/abstract"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// IsAbstractMemory is the name of the property in Refinement.tla.
const IsAbstractMemory = "IsAbstractMemory"

// A Mapping maps to the states of an abstract memory.
type Mapping struct {
	streams []spec.Stream
	pools   []spec.PoolID // what is captured with one is a graph
	machine *abstract.Machine
	needs   func(bytes uint64) uint64
}

// New is the mapping of a program at some bounds. Addresses must be below 63 units.
func New(b bounded.Bounds, pools ...spec.PoolID) *Mapping {
	m := &Mapping{streams: b.Streams, pools: pools, needs: b.NeededFor, machine: &abstract.Machine{
		Bytes: 63, Streams: len(b.Streams), Graphs: len(pools),
		Align: int(b.Geometry.MinBlock), Room: int(min(b.Memory, b.Limit)),
	}}
	for _, size := range b.Sizes {
		m.machine.Sizes = append(m.machine.Sizes, int(size))
	}
	return m
}

// Add adds the parts of IsAbstractMemory at some bounds to what an exploration checks: StepsAreSafe
// and CallsAreAccepted, which is FreesAreAccepted too.
func Add(to *explore.Options[*model.State], b bounded.Bounds) {
	m := New(b)
	to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{Name: "CallsAreAccepted", Holds: m.callsAreAccepted})
	to.Steps = append(to.Steps, explore.StepProperty[*model.State]{
		Name: "StepsAreSafe",
		Holds: func(from *model.State, _ int, next *model.State) bool {
			return m.machine.IsStep(m.State(from, nil), m.State(next, nil))
		},
	})
}

// IsStep reports whether a step is one of an abstract memory. The memory of the pools' graphs is
// that before and after.
func (m *Mapping) IsStep(from, to *model.State, graphs, after []abstract.Bytes) bool {
	return m.machine.IsStep(m.State(from, graphs), m.State(to, after))
}

// MayFail reports whether a malloc may be out of memory: there would be no room if all were returned
// that no allocation needs.
func (m *Mapping) MayFail(s *model.State, bytes uint64) bool {
	return m.machine.CannotServe(m.State(s, nil), int(m.needs(bytes)))
}

// callsAreAccepted: the allocator does not refuse to free, or to record a stream on, what the
// program holds.
func (m *Mapping) callsAreAccepted(s *model.State) bool {
	for _, h := range s.Truth.Held {
		if _, r := s.Free(h.Ptr); r.Err != nil {
			return false
		}
		for _, stream := range m.streams {
			if _, r := s.RecordStream(h.Ptr, spec.DeviceStream{Stream: stream}); r.Err != nil {
				return false
			}
		}
	}
	return true
}

// State is the image of a state, with the memory that the graphs of the pools work on.
func (m *Mapping) State(s *model.State, graphs []abstract.Bytes) abstract.State {
	image := abstract.Initial(len(m.streams), len(m.pools))
	for _, h := range s.Truth.Held {
		x := abstract.Allocation{Memory: bytesOf(s.MemoryOf(h)), Stream: m.number(h.Stream)}
		x.Name = m.nameOf(h, image)
		for _, t := range s.Truth.Touches {
			if t.Ptr == h.Ptr && !t.Captured {
				x.Users = x.Users.With(m.number(t.Stream.Stream))
			}
		}
		image.Held = image.Take(x)
	}
	for i, stream := range m.streams {
		for n, memory := range s.StreamOf(spec.DeviceStream{Stream: stream}).Work {
			p := abstract.Piece{Uses: bytesOf(memory), Behind: make([]int, len(m.streams))}
			p.Behind[i] = n
			image.Queues[i] = append(image.Queues[i], p)
		}
	}
	for _, g := range s.Truth.Granted {
		image.Granted = image.Grant(bytesOf(g.Memory))
	}
	for i, memory := range graphs {
		image.Graphs[i].Memory = memory
	}
	for _, r := range s.Truth.Captures {
		if at := slices.Index(m.pools, r.Pool); at >= 0 {
			image.Graphs[at].Streams = image.Graphs[at].Streams.With(m.number(r.Stream))
		}
	}
	return image
}

// nameOf is the name of what the program holds: its address. Of several at an address, which only
// an allocator with a mistake returns, the later ones have others.
func (m *Mapping) nameOf(h model.Held, image abstract.State) int {
	name := int(h.Ptr - bounded.AddressBase)
	for slices.ContainsFunc(image.Held, func(x abstract.Allocation) bool { return x.Name == name }) {
		name += math.MaxInt32
	}
	return name
}

// number is the number of a stream in the abstract memory.
func (m *Mapping) number(stream spec.Stream) int { return slices.Index(m.streams, stream) + 1 }

// bytesOf is memory as a set of bytes.
func bytesOf(r spec.Range) abstract.Bytes {
	low := int(r.Ptr - bounded.AddressBase)
	return abstract.Range(low, low+int(r.Bytes)-1)
}
