package snapshot

import (
	"slices"
	"strconv"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/upstream"
)

// allocatorSettings reads the settings in force. PYTORCH_ALLOC_CONF is the string that was
// applied last, and settings of an earlier one may persist. So a setting with a key of its
// own is read from there, and only the others from the string. What the string means depends on
// the version, which all other keys of the file tell together with those that are here.
func (c *converter) allocatorSettings(v value) error {
	if v.kind == none {
		c.file.Version = c.version()
		return nil
	}
	items, err := c.fields(v, "allocator_settings")
	if err != nil {
		return err
	}
	c.see("allocator_settings.", items, "roundup_power2_divisions", "graph_capture_record_stream_reuse", "max_cached_size")
	c.file.Version = c.version()
	s := &AllocatorSettings{Config: spec.DefaultConfig(spec.DefaultGeometry())}
	for _, key := range []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"} {
		if conf, ok := c.string(c.get(items, key)); ok {
			s.Conf = conf
		}
	}
	if len(s.Conf) > settings.MaxLength {
		return failAt(c.offsetOf(v), "PYTORCH_ALLOC_CONF has %d bytes, and at most %d are read", len(s.Conf), settings.MaxLength)
	}
	s.Config, s.Unknown = readableSettings(s.Conf, c.file.Version.Releases())
	if n, ok := c.get(items, "max_split_size").signed(); ok && n >= 0 {
		s.Config.MaxSplitSize = uint64(n)
	}
	if f, ok := c.get(items, "garbage_collection_threshold").number(); ok {
		s.Config.GarbageCollectionThreshold = f
	}
	c.flag(items, "expandable_segments", &s.Config.ExpandableSegments)
	c.flag(items, "release_lock_on_cudamalloc", &s.Config.ReleaseLockOnMalloc)
	c.flag(items, "graph_capture_record_stream_reuse", &s.Config.GraphCaptureRecordStreamReuse)
	if divisions := c.get(items, "roundup_power2_divisions"); divisions.kind == dict {
		if err := c.divisions(divisions, &s.Config.Divisions); err != nil {
			return err
		}
	}
	c.file.AllocatorSettings = s
	return nil
}

func (c *converter) flag(items []value, key string, to *bool) {
	if v := c.get(items, key); v.kind == boolean {
		*to = v.word == 1
	}
}

// divisions reads a dict from MiB to divisions.
func (c *converter) divisions(v value, to *[spec.NumDivisions]uint64) error {
	items, err := c.fields(v, "roundup_power2_divisions")
	for i := range to {
		if n, ok := c.get(items, strconv.Itoa(1<<i)).size(); ok {
			to[i] = n
		}
	}
	return err
}

// NotFollowed is a key of a settings string that a release has and that nothing here follows, ""
// if there is none.
func NotFollowed(conf string) string {
	followed := settings.Grammar{Keys: notFollowed}
	for _, key := range settings.KeysOf(conf) {
		if (settings.Grammar{}).Has(key) != followed.Has(key) {
			return key
		}
	}
	return ""
}

// notFollowed are the keys that decide of device memory, and that nothing here follows: their
// settings count as unknown.
const notFollowed = settings.KeyThrowOnOOM | settings.KeyReserve

// readableSettings applies what can be read of a settings string, as the newest of the releases
// reads it that can read all of it, or else as the newest. A setting that a release does not know
// leaves the others as they are. unknown are the settings that cannot be read.
func readableSettings(conf string, releases []upstream.Release) (config spec.Config, unknown []string) {
	g := spec.DefaultGeometry()
	for _, r := range releases {
		grammar := r.Rules.Settings
		grammar.Keys &^= notFollowed
		if config, err := grammar.Parse(conf, g); err == nil {
			return config, nil
		}
	}
	grammar := releases[0].Rules.Settings
	grammar.Keys &^= notFollowed
	config, _ = grammar.Parse("", g)
	// A large segment size bounds other settings, so it is tried first.
	all := splitSettings(conf)
	var readable []string
	for _, first := range []bool{true, false} {
		for _, s := range all {
			if strings.HasPrefix(s, "large_segment_size_mb") != first {
				continue
			}
			if c, err := grammar.Parse(strings.Join(append(slices.Clone(readable), s), ","), g); err == nil {
				config = c
				readable = append(readable, s)
			} else {
				unknown = append(unknown, s)
			}
		}
	}
	return config, unknown
}

// splitSettings splits a settings string at the commas outside of brackets.
func splitSettings(conf string) []string {
	var list []string
	depth, begin := 0, 0
	for i, r := range conf + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth <= 0 || i == len(conf):
			if s := strings.TrimSpace(conf[begin:i]); s != "" {
				list = append(list, s)
			}
			begin = i + 1
		}
	}
	return list
}
