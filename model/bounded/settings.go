package bounded

import (
	"fmt"
	"slices"

	"gaugeblock/model"
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

// always implements Module. A block that was allocated under another max_split_size may have more
// left over than BlocksFitRequests says.
func (m *Settings) always() []string {
	changing := []string{"BlocksFitRequests", "OversizeSegmentsAreWhole", "CountersFollowHistory"}
	return slices.DeleteFunc(m.CachingAllocator.always(), func(name string) bool { return slices.Contains(changing, name) })
}

// fairness implements Module.
func (m *Settings) fairness(specification string) ([][]int, bool) {
	return nil, specification == "Spec"
}
