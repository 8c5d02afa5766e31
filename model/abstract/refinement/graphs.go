package refinement

import (
	"strconv"
	"strings"

	"gaugeblock/model"
	"gaugeblock/model/abstract"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
)

// Graphs is a module with the history of its program that MCPoolsRefinement.tla has: for each pool
// the uses that the program has of it, and the memory that the graphs work on which were captured
// with it. No variable of the allocator says that. It implements explore.Specification.
type Graphs struct {
	Module bounded.Module
	Pools  []spec.PoolID
	Map    *Mapping
}

// WithGraphs is a state with the history.
type WithGraphs struct {
	*model.State
	uses   []int
	Memory []abstract.Bytes // of each pool's graphs
}

// Labels implements explore.Specification.
func (g *Graphs) Labels() []string { return g.Module.Labels() }

// Initial implements explore.Specification.
func (g *Graphs) Initial() []WithGraphs {
	return []WithGraphs{{g.Module.Initial()[0], make([]int, len(g.Pools)), make([]abstract.Bytes, len(g.Pools))}}
}

// Next implements explore.Specification.
func (g *Graphs) Next(s WithGraphs, yield func(label int, next WithGraphs)) {
	g.Module.Next(s.State, func(label int, to *model.State) {
		next := WithGraphs{to, make([]int, len(g.Pools)), make([]abstract.Bytes, len(g.Pools))}
		for i, id := range g.Pools {
			next.uses[i] = s.uses[i] + changeOfUses(g.Module.Labels()[label], id)
			if next.uses[i] > 0 {
				next.Memory[i] = s.Memory[i] | captured(s.State, to, id)
			}
		}
		yield(label, next)
	})
}

// changeOfUses is how many uses of a pool the program begins in a step, or ends.
func changeOfUses(label string, id spec.PoolID) int {
	name, arguments, _ := strings.Cut(label, "(")
	if pool, _, _ := strings.Cut(strings.TrimSuffix(arguments, ")"), ","); pool != strconv.FormatUint(id.Capture, 10) {
		return 0
	}
	switch name {
	case "BeginAllocateToPool":
		return 1
	case "ReleasePool":
		return -1
	}
	return 0
}

// captured is the memory of a pool that a step has returned to the program.
func captured(from, to *model.State, id spec.PoolID) (memory abstract.Bytes) {
	held := map[model.Held]bool{}
	for _, h := range from.Truth.Held {
		held[h] = true
	}
	for _, h := range to.Truth.Held {
		if !held[h] && h.Pool == id {
			memory |= bytesOf(to.MemoryOf(h))
		}
	}
	return memory
}

// Key implements explore.Specification.
func (g *Graphs) Key(to []byte, s WithGraphs) []byte {
	for i := range g.Pools {
		to = append(to, byte(s.uses[i]))
		for n := range 8 {
			to = append(to, byte(s.Memory[i]>>(8*n)))
		}
	}
	return g.Module.Key(to, s.State)
}

// Decoder implements explore.Specification.
func (g *Graphs) Decoder() func(key []byte) WithGraphs {
	decode := g.Module.Decoder()
	return func(key []byte) WithGraphs {
		s := WithGraphs{uses: make([]int, len(g.Pools)), Memory: make([]abstract.Bytes, len(g.Pools))}
		for i := range g.Pools {
			s.uses[i] = int(key[0])
			for n := range 8 {
				s.Memory[i] |= abstract.Bytes(key[1+n]) << (8 * n)
			}
			key = key[9:]
		}
		s.State = decode(key)
		return s
	}
}

// Options are the parts of IsAbstractMemoryWithGraphs.
func (g *Graphs) Options() (to explore.Options[WithGraphs]) {
	to.Invariants = []explore.Invariant[WithGraphs]{{
		Name: "CallsAreAccepted", Holds: func(s WithGraphs) bool { return g.Map.callsAreAccepted(s.State) },
	}}
	to.Steps = []explore.StepProperty[WithGraphs]{{
		Name: "StepsAreSafe",
		Holds: func(from WithGraphs, _ int, to WithGraphs) bool {
			return g.Map.IsStep(from.State, to.State, from.Memory, to.Memory)
		},
	}}
	return to
}
