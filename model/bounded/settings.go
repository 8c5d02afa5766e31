package bounded

import (
	"bytes"
	"fmt"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
)

// Settings is Settings.tla: CachingAllocator with a max_split_size that changes.
type Settings struct {
	*CachingAllocator
	values    []uint64 // of max_split_size
	configure action
}

func openSettings(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c, "MaxSplitSizes")
	if err != nil {
		return nil, err
	}
	m := &Settings{CachingAllocator: newCachingAllocator(b)}
	m.keys.module = m
	r := constants{config: c}
	m.values = r.numbers("MaxSplitSizes")
	m.configure = m.add("Configure", asInts(m.values))
	if b.Config.MaxNonSplitRounding != b.Config.LargeSegmentSize && r.err == nil {
		r.err = fmt.Errorf("%s: MaxNonSplitRounding is not LargeBuffer, which a string of settings makes it", c.File)
	}
	return m, r.err
}

// Next implements explore.Specification.
func (m *Settings) Next(s *model.State, yield func(label int, next *model.State)) {
	m.CachingAllocator.Next(s, yield)
	for i, value := range m.values {
		if value != s.Config.MaxSplitSize {
			next, _ := s.Configure(MaxSplitSettings(value))
			yield(m.configure.label(i), &next)
		}
	}
}

// MaxSplitSettings is the string of settings that sets max_split_size.
func MaxSplitSettings(units uint64) string { return fmt.Sprintf("max_split_size_mb:%d", units) }

// Text implements Module. tla/Settings.tla explains the variable.
func (m *Settings) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	m.variables(w)
	w.variable("maxSplit", func() { w.Int(int(s.Config.MaxSplitSize)) })
	return w.finish(to)
}

func (m *Settings) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "SettingsAreKept":
		holdsOfSteps(to, name, m.settingsAreKept)
	case "NewBlocksFitRequests":
		holdsOfSteps(to, name, newBlocksFitRequests)
	default:
		return m.CachingAllocator.property(name, fair, to)
	}
	return true
}

// settingsAreKept: a setting is what the program has set it to, no other step changes it, and it changes no memory.
func (m *Settings) settingsAreKept(from *model.State, label int, to *model.State) bool {
	for i, value := range m.values {
		if label == m.configure.label(i) {
			kept := *from
			kept.Config = to.Config
			return to.Config.MaxSplitSize == value && bytes.Equal(m.Key(nil, &kept), m.Key(nil, to))
		}
	}
	return to.Config.MaxSplitSize == from.Config.MaxSplitSize
}

// newBlocksFitRequests: what a malloc returns fits its request by the present setting. (Of a segment
// that was split before, an oversize request can be given a part.)
func newBlocksFitRequests(from *model.State, _ int, to *model.State) bool {
	return !slices.ContainsFunc(to.Truth.Held, func(h model.Held) bool {
		b, g := blockAt(to, toUnits(h.Ptr))
		return !slices.Contains(from.Truth.Held, h) && (b == nil || !fitsRequest(to, g, b, h))
	})
}

// always implements Module. A block that was allocated under another max_split_size may have more
// left over than BlocksFitRequests says.
func (m *Settings) always() []string {
	changing := []string{"BlocksFitRequests", "OversizeSegmentsAreWhole"}
	names := slices.DeleteFunc(m.CachingAllocator.always(), func(name string) bool { return slices.Contains(changing, name) })
	return append(names, "SettingsAreKept", "NewBlocksFitRequests")
}

// fairness implements Module.
func (m *Settings) fairness(specification string) ([][]int, bool) {
	return nil, specification == "Spec"
}
