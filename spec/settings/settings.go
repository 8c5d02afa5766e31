// Package settings reads and writes settings strings. A settings string is what
// PyTorch reads from PYTORCH_ALLOC_CONF, and again whenever a program sets the
// allocator's settings while it runs:
//
//	max_split_size_mb:128,garbage_collection_threshold:0.8
//
// A string is applied to the spec.Config that is in force, in this order:
//
//  1. MaxSplitSize, Divisions and GarbageCollectionThreshold are reset to their
//     defaults. Everything else persists until it is set again.
//  2. large_segment_size_mb is read, wherever it stands, because others may not
//     be below the large segment size. If it stands there twice the last one wins,
//     as with every key but the divisions, where a list adds to what there is.
//  3. MaxNonSplitRounding becomes the large segment size.
//  4. All other keys are read from left to right.
//
// A string with a mistake in it is refused as a whole. Upstream keeps what it had
// done when it met the mistake: the resets, and the keys before it.
//
// Every string that is accepted here means the same to upstream. Some that
// upstream accepts are refused here, because upstream reads them as something else
// than is written, or because no allocator works with the value;
// the area settings of docs/deviations.md lists them.
//
// The files: lexer.go has the tokens, parser.go the grammar, values.go reads numbers,
// divisions.go the one setting that is a list, format.go writes a string, settings.go
// has each key. The rules are those of upstream's c10/core/AllocatorConfig.cpp and
// c10/cuda/CUDAAllocatorConfig.cpp.
package settings

import (
	"fmt"

	"gaugeblock/spec"
)

// MaxLength is the longest string that is read, in bytes. A file can claim any.
const MaxLength = 16 << 10

// Parse is Grammar.Parse for 2.11.
func Parse(settings string, g spec.Geometry) (spec.Config, error) {
	return Grammar{}.Parse(settings, g)
}

// Apply is Grammar.Apply for 2.11.
func Apply(c spec.Config, settings string, g spec.Geometry) (spec.Config, error) {
	return Grammar{}.Apply(c, settings, g)
}

// Parse returns the settings of a string alone, with defaults for all that it does
// not set. The error is an *Error; the Config is then the default.
func (grammar Grammar) Parse(settings string, g spec.Geometry) (spec.Config, error) {
	return grammar.Apply(spec.DefaultConfig(g), settings, g)
}

// Apply returns the settings that are in force after the string has been applied to
// c. Sizes in keys that end in _mb count in g.MiB; g must be valid. The error is an
// *Error; the Config is then c, unchanged.
func (grammar Grammar) Apply(c spec.Config, settings string, g spec.Geometry) (spec.Config, error) {
	if len(settings) > MaxLength {
		return c, &Error{Text: settings, Reason: fmt.Sprintf("the string has %d bytes, and at most %d are read", len(settings), MaxLength)}
	}
	list, err := grammar.parseSettings(settings)
	if err != nil {
		return c, err
	}
	r := release{grammar, g}
	start, next := spec.DefaultConfig(g), c
	next.Last = settings
	next.MaxSplitSize = start.MaxSplitSize
	next.Divisions = start.Divisions
	next.GarbageCollectionThreshold = start.GarbageCollectionThreshold

	for _, s := range list {
		if s.key.text == keyLargeSegmentSize {
			if err := setLargeSegmentSize(&next, s, r); err != nil {
				return c, err
			}
		}
	}
	if !grammar.NonSplitRoundingKept {
		next.MaxNonSplitRounding = next.LargeSegmentSize
	}
	for _, s := range list {
		if s.key.text == keyLargeSegmentSize {
			continue
		}
		if err := grammar.setter(s.key.text)(&next, s, r); err != nil {
			return c, err
		}
	}
	return next, nil
}

// The keys that the grammar or the order of application name.
const (
	keyDivisions        = "roundup_power2_divisions"
	keyLargeSegmentSize = "large_segment_size_mb"
	keyReserveByClass   = "expandable_segments_reserve_by_class"
)

// A key describes a setting: its name, another upstream name for the same, how a
// value is read into the Config, and how the Config's value is written. format returns
// "" for a default value.
type key struct {
	name, alias string
	set         setter
	format      formatter
}

// A setter reads the value of a setting into the Config.
type setter func(c *spec.Config, s setting, r release) error

// A release is what values are read by: the grammar of a release, and the sizes that a
// setting is in terms of.
type release struct {
	Grammar
	spec.Geometry
}

// A formatter writes the value of a setting, "" if it is that of the default d.
type formatter func(c, d *spec.Config, r release) string

// keys has every key of every release, in the order in which Format writes them.
var keys = []key{
	{keyLargeSegmentSize, "", setLargeSegmentSize,
		size(func(c *spec.Config) *uint64 { return &c.LargeSegmentSize })},
	{"max_split_size_mb", "", setMaxSplitSize,
		size(func(c *spec.Config) *uint64 { return &c.MaxSplitSize })},
	{"max_non_split_rounding_mb", "", setMaxNonSplitRounding, formatMaxNonSplitRounding},
	{"garbage_collection_threshold", "", setGarbageCollectionThreshold,
		number(func(c *spec.Config) *float64 { return &c.GarbageCollectionThreshold })},
	{keyDivisions, "", setDivisions, formatDivisions},
	boolean("expandable_segments", "", func(c *spec.Config) *bool { return &c.ExpandableSegments }),
	boolean("release_lock_on_cudamalloc", "release_lock_on_hipmalloc", func(c *spec.Config) *bool { return &c.ReleaseLockOnMalloc }),
	boolean("graph_capture_record_stream_reuse", "", func(c *spec.Config) *bool { return &c.GraphCaptureRecordStreamReuse }),
	{"per_process_memory_fraction", "", setPerProcessMemoryFraction,
		number(func(c *spec.Config) *float64 { return &c.PerProcessMemoryFraction })},
	boolean("throw_on_cudamalloc_oom", "", func(c *spec.Config) *bool { return &c.ThrowOnOOM }),
	{"expandable_segments_reserve", "", setReserve, formatReserve},
	{keyReserveByClass, "", setReserveByClass, formatReserveByClass},
	{"backend", "", setBackend, func(_, _ *spec.Config, _ release) string { return "" }},

	boolean("pinned_use_cuda_host_register", "pinned_use_hip_host_register", func(c *spec.Config) *bool { return &c.Pinned.UseCUDAHostRegister }),
	{"pinned_num_register_threads", "", setPinnedRegisterThreads, formatPinnedRegisterThreads},
	boolean("pinned_use_background_threads", "", func(c *spec.Config) *bool { return &c.Pinned.UseBackgroundThreads }),
	{"pinned_reserve_segment_size_mb", "", setPinnedReserveSegmentSize,
		size(func(c *spec.Config) *uint64 { return &c.Pinned.ReserveSegmentSize })},
	boolean("pinned_free_catch_all", "", func(c *spec.Config) *bool { return &c.Pinned.FreeCatchAll }),
	mebibytes("pinned_max_round_threshold_mb", func(c *spec.Config) *uint64 { return &c.Pinned.MaxRoundThreshold }),
	mebibytes("pinned_max_cached_size_mb", func(c *spec.Config) *uint64 { return &c.Pinned.MaxCachedSize }),
}

// setter is the setter of a key by either of its names, nil if the release has no such key.
func (g Grammar) setter(name string) setter {
	for _, k := range keys {
		if (k.name == name || k.alias == name) && name != "" && g.has(k) {
			return k.set
		}
	}
	return nil
}

// has reports whether the release has the key.
func (g Grammar) has(k key) bool {
	bit, optional := optionalKeys[k.name]
	return !optional || (keysOf211^g.Keys)&bit != 0
}

// mebibytes describes a key whose value is a size in units of MiB.
func mebibytes(name string, field func(*spec.Config) *uint64) key {
	return key{
		name, "",
		func(c *spec.Config, s setting, r release) (err error) {
			*field(c), err = s.mebibytes(r.Geometry)
			return err
		},
		size(field),
	}
}

// boolean describes a key that is True or False, and False by default.
func boolean(name, alias string, field func(*spec.Config) *bool) key {
	return key{
		name, alias,
		func(c *spec.Config, s setting, _ release) (err error) {
			*field(c), err = s.boolean()
			return err
		},
		func(c, _ *spec.Config, _ release) string {
			if *field(c) {
				return "True"
			}
			return ""
		},
	}
}

// setMaxSplitSize wants a large segment to stay splittable.
func setMaxSplitSize(c *spec.Config, s setting, r release) (err error) {
	c.MaxSplitSize, err = s.atLeastLargeSegment(c, r)
	return err
}

func setMaxNonSplitRounding(c *spec.Config, s setting, r release) (err error) {
	c.MaxNonSplitRounding, err = s.atLeastLargeSegment(c, r)
	return err
}

// atLeastLargeSegment reads a size in bytes that may not be below the large
// segment size.
func (s setting) atLeastLargeSegment(c *spec.Config, r release) (uint64, error) {
	bytes, err := s.mebibytes(r.Geometry)
	if err != nil {
		return 0, err
	}
	least := wholeMebibytes(c.LargeSegmentSize, r.Geometry)
	switch {
	case r.SplitSizeAboveSegment && bytes <= c.LargeSegmentSize:
		return 0, s.refuse(s.value, fmt.Sprintf("must be above %d, the large segment size", least))
	case bytes < c.LargeSegmentSize:
		return 0, s.refuse(s.value, fmt.Sprintf("must be at least %d, the large segment size", least))
	}
	return bytes, nil
}

// setLargeSegmentSize wants a segment that every request below MinLargeAlloc fits
// in. Beyond upstream, which takes any larger number, the segment must be one that
// an allocator can obtain and cut into blocks.
func setLargeSegmentSize(c *spec.Config, s setting, r release) error {
	bytes, err := s.mebibytes(r.Geometry)
	switch {
	case err != nil:
		return err
	case bytes <= r.MinLargeAlloc:
		return s.refuse(s.value, fmt.Sprintf("must be above %d", r.MinLargeAlloc/r.MiB))
	case bytes >= r.MaxRequest:
		return s.refuse(s.value, fmt.Sprintf("must be below %d", wholeMebibytes(r.MaxRequest, r.Geometry)))
	case bytes%r.MinBlock != 0:
		return s.refuse(s.value, fmt.Sprintf("must be a multiple of %d bytes, the smallest block", r.MinBlock))
	}
	c.LargeSegmentSize = bytes
	return nil
}

func setGarbageCollectionThreshold(c *spec.Config, s setting, _ release) error {
	f, err := s.number()
	if err != nil {
		return err
	}
	if f <= 0 || f >= 1 {
		return s.refuse(s.value, "must be above 0 and below 1")
	}
	c.GarbageCollectionThreshold = f
	return nil
}

func setPerProcessMemoryFraction(c *spec.Config, s setting, _ release) error {
	f, err := s.number()
	if err != nil {
		return err
	}
	if f < 0 || f > 1 {
		return s.refuse(s.value, "must be from 0 to 1")
	}
	c.PerProcessMemoryFraction = f
	return nil
}

// setBackend knows one backend: this one.
func setBackend(_ *spec.Config, s setting, _ release) error {
	if s.value.text != "native" {
		return s.refuse(s.value, "must be native, the only allocator here")
	}
	return nil
}

// maxPinnedRegisterThreads is upstream's bound.
const maxPinnedRegisterThreads = 128

func setPinnedRegisterThreads(c *spec.Config, s setting, _ release) error {
	n, err := s.unsigned(s.value)
	if err != nil {
		return err
	}
	if !isPowerOfTwo(n) || n > maxPinnedRegisterThreads {
		return s.refuse(s.value, fmt.Sprintf("must be a power of two up to %d", maxPinnedRegisterThreads))
	}
	c.Pinned.NumRegisterThreads = n
	return nil
}

func setPinnedReserveSegmentSize(c *spec.Config, s setting, r release) error {
	bytes, err := s.mebibytes(r.Geometry)
	if err != nil {
		return err
	}
	if bytes == 0 {
		return s.refuse(s.value, "must be above 0")
	}
	c.Pinned.ReserveSegmentSize = bytes
	return nil
}

func isPowerOfTwo(n uint64) bool { return n != 0 && n&(n-1) == 0 }
