package bounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/upstream"
)

// CurrentStream is CurrentStream.tla: PrivatePools, called by threads with a current stream.
type CurrentStream struct {
	*PrivatePools
	freeOn, recordStreamOn, emptyCacheOn action

	replaced []bool // by label: the actions that these stand for
}

func openCurrentStream(c *tlc.Config) (Module, error) {
	p, err := openPrivatePools(c)
	if err != nil {
		return nil, err
	}
	m := &CurrentStream{PrivatePools: p}
	addresses, streams := upTo(p.addresses()), asInts(p.Streams)
	m.freeOn = m.add("FreeOn", addresses, streams)
	m.recordStreamOn = m.add("RecordStreamOn", addresses, streams, streams)
	m.emptyCacheOn = m.add("EmptyCacheOn", streams)
	m.replaced = make([]bool, len(m.labels))
	for _, label := range slices.Concat(m.free.all(), m.recordStream.all(), m.emptyCache.all()) {
		m.replaced[label] = true
	}
	return m, nil
}

// Next implements explore.Specification.
func (m *CurrentStream) Next(s *model.State, yield func(label int, next *model.State)) {
	m.PrivatePools.Next(s, func(label int, next *model.State) {
		if !m.replaced[label] {
			yield(label, next)
		}
	})
	for i, current := range m.Streams {
		on := *s
		on.Current = current
		then := func(label int, next model.State) {
			next.Current = 0
			yield(label, &next)
		}
		then(m.emptyCacheOn.label(i), on.EmptyCache())
		for _, h := range s.Truth.Held {
			then(m.freeOn.label(toUnits(h.Ptr), i), *free(&on, h.Ptr))
			for j, stream := range m.Streams {
				captured := s.Truth.IsCaptured(current)
				if m.canRecordStreamIn(s, h, stream, captured) {
					next, _ := on.RecordStream(h.Ptr, onDevice(stream))
					next.Truth = next.Truth.TouchIn(h.Ptr, onDevice(stream), captured)
					then(m.recordStreamOn.label(toUnits(h.Ptr), j, i), next)
				}
			}
		}
	}
}

// fairness implements Module.
func (m *CurrentStream) fairness(specification string) ([][]int, bool) {
	return nil, specification == "SpecOn"
}

// always implements Module. What is left out is about callers that know of all captures: EmptyCache
// beside a capture, and a malloc that asks for events that a capture forbids to ask for. Where any
// routing is a capture a use beside it counts as captured too, and is not waited for.
func (m *CurrentStream) always() []string {
	left := []string{"CountersFollowHistory", "NoNeedlessReturn", "NoNeedlessWait", "DriverCallsAreLegal"}
	if m.Rules.Captures == upstream.CapturesByRouting {
		left = append(left, "UsesAreTouches", "NoReuseWhileInUse", "WorkIsAwaited")
	}
	return slices.DeleteFunc(m.PrivatePools.always(), func(name string) bool { return slices.Contains(left, name) })
}
