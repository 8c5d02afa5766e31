package snapshot

// Which versions of PyTorch write such a file: every version writes some keys that the
// ones before it do not.

// Version bounds the version of PyTorch that wrote a file: 2.Least or later, and 2.Most
// or earlier. Newest stands for no bound. A Least of 0 also stands for versions before 2.0.
type Version struct{ Least, Most int }

// Newest is a Version.Most that says nothing.
const Newest = 1 << 30

// seenKeys are keys of a file by which its version is told.
type seenKeys struct {
	blockHistory    bool // of blocks: until 2.0
	segmentPools    bool // segment_pool_id: 2.1
	times           bool // time_us of trace entries: 2.2
	compileContexts bool // compile_context of trace entries: 2.8
	userMetadata    bool // user_metadata of trace entries: 2.10
	entryPools      bool // the pool of a trace entry: 2.12
	annotations     bool // annotate entries: 2.14
	settings        bool // allocator_settings: 2.1
	divisions       bool // roundup_power2_divisions in these, as a dict
	captureReuse    bool // graph_capture_record_stream_reuse in these: 2.9
}

func (s *seenKeys) version() Version {
	v := Version{Most: Newest}
	for _, k := range []struct {
		seen  bool
		since int
	}{{s.segmentPools, 1}, {s.settings, 1}, {s.times, 2}, {s.compileContexts, 8}, {s.captureReuse, 9}, {s.userMetadata, 10}, {s.entryPools, 12}, {s.annotations, 14}} {
		if k.seen {
			v.Least = max(v.Least, k.since)
		}
	}
	switch {
	case s.blockHistory:
		v.Most = 0
	case s.settings && s.divisions && !s.captureReuse:
		v.Most = 8
	case (s.times || s.userMetadata) && !s.entryPools:
		v.Most = 11
	}
	if v.Least > v.Most { // no version writes such a file
		return Version{Most: Newest}
	}
	return v
}
