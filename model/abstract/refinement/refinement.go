// Package refinement is Refinement.tla in Go: each step of the allocator's model is one of an
// abstract memory, under a mapping that reads what the program and the device did (model.Truth)
// and nothing that the allocator remembers. The allocations of the image are a list, so that a
// malloc which returns what the program holds already is seen without MallocsServe.
package refinement

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/abstract"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// IsAbstractMemory is the name of the property in Refinement.tla.
const IsAbstractMemory = "IsAbstractMemory"

// mapping maps to the states of an abstract memory.
type mapping struct {
	streams []spec.Stream
	machine *abstract.Machine
}

// Add adds the parts of IsAbstractMemory at some bounds to what an exploration checks: StepsAreSafe
// and CallsAreAccepted, which is FreesAreAccepted too. Addresses must be below 63 units.
func Add(to *explore.Options[*model.State], b bounded.Bounds) {
	m := mapping{streams: b.Streams, machine: &abstract.Machine{Bytes: 63, Streams: len(b.Streams)}}
	for _, size := range b.Sizes {
		m.machine.Sizes = append(m.machine.Sizes, int(size))
	}
	to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{Name: "CallsAreAccepted", Holds: m.callsAreAccepted})
	to.Steps = append(to.Steps, explore.StepProperty[*model.State]{
		Name: "StepsAreSafe",
		Holds: func(from *model.State, _ int, next *model.State) bool {
			return m.machine.IsStep(m.state(from), m.state(next))
		},
	})
}

// callsAreAccepted: the allocator does not refuse to free, or to record a stream on, what the
// program holds.
func (m *mapping) callsAreAccepted(s *model.State) bool {
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

// state is the image of a state.
func (m *mapping) state(s *model.State) abstract.State {
	image := abstract.Initial(len(m.streams))
	for _, h := range s.Truth.Held {
		x := abstract.Allocation{Memory: bytesOf(s.MemoryOf(h)), Stream: m.number(h.Stream)}
		for _, t := range s.Truth.Touches {
			if t.Ptr == h.Ptr && !t.Captured {
				x.Users = x.Users.With(m.number(t.Stream.Stream))
			}
		}
		image.Allocations = image.Take(x)
	}
	for i, stream := range m.streams {
		for _, memory := range s.StreamOf(spec.DeviceStream{Stream: stream}).Work {
			image.Work[i] = append(image.Work[i], bytesOf(memory))
		}
	}
	for _, g := range s.Truth.Granted {
		image.Belongs[m.number(g.Stream)-1] |= bytesOf(g.Memory)
	}
	return image
}

// number is the number of a stream in the abstract memory.
func (m *mapping) number(stream spec.Stream) int { return slices.Index(m.streams, stream) + 1 }

// bytesOf is memory as a set of bytes.
func bytesOf(r spec.Range) abstract.Bytes {
	low := int(r.Ptr - bounded.AddressBase)
	return abstract.Range(low, low+int(r.Bytes)-1)
}
