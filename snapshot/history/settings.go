package history

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/upstream"
)

// Settings are allocator settings, read once: a value of PYTORCH_ALLOC_CONF and what it
// means. The zero value is not valid; DefaultSettings has the default ones.
type Settings struct {
	Text      string
	Config    spec.Config
	canonical string // equal for settings that mean the same
}

// ParseSettings reads a value of PYTORCH_ALLOC_CONF as a release reads it.
func ParseSettings(text string, r upstream.Release) (Settings, error) {
	if key := snapshot.NotFollowed(text); key != "" {
		return Settings{}, fmt.Errorf("%s is not followed here", key)
	}
	config, err := r.Rules.Settings.Parse(text, spec.DefaultGeometry())
	unknown := func(key string) bool { return !r.Rules.Settings.Has(key) }
	if needed := upstream.NeededBy(text); err != nil && needed > 0 && slices.ContainsFunc(settings.KeysOf(text), unknown) {
		err = fmt.Errorf("PyTorch %s: %w (PyTorch 2.%d knows all keys)", r.Name, err, needed)
	}
	return Settings{text, config, settings.Format(config, spec.DefaultGeometry())}, err
}

// SettingsOf are the settings with a meaning.
func SettingsOf(config spec.Config) Settings {
	text := settings.Format(config, spec.DefaultGeometry())
	return Settings{text, config, text}
}

// DefaultSettings are in force if nothing is set.
func DefaultSettings() Settings { return SettingsOf(spec.DefaultConfig(spec.DefaultGeometry())) }

// Same reports whether two settings mean the same.
func (s Settings) Same(as Settings) bool { return s.canonical == as.canonical }

// Comparable returns why settings cannot be compared, nil if they can.
func (s Settings) Comparable() error {
	if s.Config.PerProcessMemoryFraction != 1 {
		return errors.New("per_process_memory_fraction is a limit, and the device's memory is not in a snapshot: give the limit in bytes")
	}
	return nil
}

// RoundedSize is the size of the block for a request, in bytes.
func (s Settings) RoundedSize(request uint64) uint64 {
	g := spec.DefaultGeometry()
	request = max(request, 1)
	n := s.Config.DivisionsFor(request, g)
	if n <= 1 || request <= g.MinBlock*n {
		return roundUp(request, g.MinBlock)
	}
	power := uint64(1)
	for power <= request/2 {
		power *= 2
	}
	return roundUp(request, power/n)
}

// SegmentSize is the size of the segment for a request that no free block serves, in bytes.
func (s Settings) SegmentSize(request uint64) uint64 {
	g := spec.DefaultGeometry()
	switch size := s.RoundedSize(request); {
	case size <= g.SmallSize:
		return g.SmallBuffer
	case size < g.MinLargeAlloc:
		return s.Config.LargeSegmentSize
	default:
		return roundUp(size, g.RoundLarge)
	}
}

func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }
