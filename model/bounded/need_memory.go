package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// NeedMemory is NeedMemory.tla: CachingAllocator with callbacks that a malloc calls where it finds no
// free block.
type NeedMemory struct {
	*CachingAllocator
	search, answer action
}

func openNeedMemory(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c)
	if err != nil {
		return nil, err
	}
	m := &NeedMemory{CachingAllocator: newCachingAllocator(b)}
	initial := b.initial()
	initial.FreeMemoryCallbacks = true
	m.keys = keys{module: m, initial: initial, names: symmetries(b.Streams, nil, nil, nil)}
	m.search = m.add("MallocSearch", asInts(b.Streams), asInts(b.Sizes))
	m.answer = m.add("CallbacksReturn", []int{0, 1})
	return m, nil
}

// Next implements explore.Specification. No malloc is one step.
func (m *NeedMemory) Next(s *model.State, yield func(label int, next *model.State)) {
	m.CachingAllocator.nextExceptMalloc(s, yield)
	if c, is := asking(s); is {
		for i, freed := range []bool{false, true} {
			results := atLowest
			results.CallbackFreed = freed
			next, r, _ := s.MallocResume(c.ID, results)
			m.hold(&next, r, c.Stream, c.RequestedSize)
			yield(m.answer.label(i), &next)
		}
		return
	}
	for i, stream := range m.Streams {
		for j, size := range m.Sizes {
			next, r, _ := s.MallocSearch(0, stream, size, atLowest)
			m.hold(&next, r, stream, size)
			yield(m.search.label(i, j), &next)
		}
	}
}

// asking is the malloc of which the callbacks run.
func asking(s *model.State) (c model.PendingMalloc, is bool) {
	if len(s.PendingMallocs) == 0 {
		return c, false
	}
	return s.PendingMallocs[0], true
}

// code is the key of what NeedMemory.tla adds.
func (m *NeedMemory) code(k *coder, s *model.State) {
	m.CachingAllocator.code(k, s)
	list(k, &s.PendingMallocs, func(c *model.PendingMalloc) {
		k.stream(&c.Stream)
		number(k, &c.RequestedSize)
		if k.reading {
			*c = s.PendingMallocAsking(c.Stream, c.RequestedSize)
		}
	})
}

// Text implements Module. tla/NeedMemory.tla explains the variable.
func (m *NeedMemory) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	m.variables(w)
	w.variable("asking", func() {
		w.Set(len(s.PendingMallocs), func(i int) {
			w.field("[bytes", int(s.PendingMallocs[i].RequestedSize))
			w.field(",stream", int(s.PendingMallocs[i].Stream))
			w.Raw("]")
		})
	})
	return w.finish(to)
}

func (m *NeedMemory) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "CallbacksAreAskedFirst":
		holdsOfSteps(to, name, m.callbacksAreAskedFirst)
	case "CallbacksAreNeeded":
		holdsOfSteps(to, name, m.callbacksAreNeeded)
	case "WhatIsFreedServes":
		holdsOfSteps(to, name, m.whatIsFreedServes)
	default:
		return m.CachingAllocator.property(name, fair, to)
	}
	return true
}

// always implements Module: the properties of states. Those of a malloc's step are these.
func (m *NeedMemory) always() []string {
	names := (&TwoStepMalloc{CachingAllocator: m.CachingAllocator}).always()
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == "AllIsReturnedAtLast" || name == "DriverServes" || name == "GrantIsUsed"
	})
	return append(names, "CallbacksAreAskedFirst", "CallbacksAreNeeded", "WhatIsFreedServes")
}

// fairness implements Module.
func (m *NeedMemory) fairness(specification string) ([][]int, bool) {
	return nil, specification == "Spec"
}

// requestOf is the request of a label that is the begin of a malloc.
func (m *NeedMemory) requestOf(label int) (stream spec.Stream, bytes uint64, is bool) {
	at := label - m.search.first
	if at < 0 || at >= len(m.search.all()) {
		return 0, 0, false
	}
	return m.Streams[at/len(m.Sizes)], m.Sizes[at%len(m.Sizes)], true
}

// callbacksAreAskedFirst: before the callbacks have answered a malloc neither obtains memory nor
// returns any, nor does it fail.
func (m *NeedMemory) callbacksAreAskedFirst(from *model.State, label int, to *model.State) bool {
	_, _, is := m.requestOf(label)
	return !is || slices.Equal(from.Truth.Granted, to.Truth.Granted) &&
		len(to.Truth.Held)+len(to.PendingMallocs) == len(from.Truth.Held)+1
}

// callbacksAreNeeded: they are not called where a free block fits.
func (m *NeedMemory) callbacksAreNeeded(from *model.State, label int, to *model.State) bool {
	stream, bytes, is := m.requestOf(label)
	return !is || !m.isCached(from, spec.DefaultPool, stream, bytes) || len(to.PendingMallocs) == 0
}

// whatIsFreedServes: what the callbacks have freed serves the malloc, and nothing is obtained for
// it. A malloc that fails nevertheless could not have been served.
func (m *NeedMemory) whatIsFreedServes(from *model.State, label int, to *model.State) bool {
	c, is := asking(from)
	if !is || !slices.Contains(m.answer.all(), label) {
		return true
	}
	served := len(to.Truth.Held) == len(from.Truth.Held)+1
	if label == m.answer.label(1) && len(m.fitting(from, spec.DefaultPool, c.Stream, c.RequestedSize)) > 0 {
		return served && slices.Equal(from.Truth.Granted, to.Truth.Granted)
	}
	return served || kept(from)+m.NeededFor(c.RequestedSize) > m.room()
}
