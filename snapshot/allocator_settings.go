package snapshot

import (
	"strconv"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// allocatorSettings reads the settings in force. PYTORCH_ALLOC_CONF is the string that was
// applied last, and settings of an earlier one may persist. So a setting with a key of its
// own is read from there, and only the others from the string.
func (c *converter) allocatorSettings(v value) error {
	items, err := c.fields(v, "allocator_settings")
	if err != nil {
		return err
	}
	s := &AllocatorSettings{Config: spec.DefaultConfig(spec.DefaultGeometry())}
	for _, key := range []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"} {
		if conf, ok := c.string(c.get(items, key)); ok {
			s.Conf = conf
		}
	}
	if config, err := settings.Parse(s.Conf, spec.DefaultGeometry()); err == nil {
		s.Config = config
	}
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
