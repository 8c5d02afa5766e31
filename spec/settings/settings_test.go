package settings_test

import (
	"bufio"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

const mib = spec.MiB

// largestMiB is the largest size that a key ending in _mb can give.
const largestMiB = math.MaxUint64 / mib * mib

// tinyGeometry is a device of a few dozen bytes whose "MiB" is 3 bytes, so that
// the default large segment is not a whole number of them and some whole numbers
// of them are not whole blocks.
func tinyGeometry() spec.Geometry {
	return spec.Geometry{
		MinBlock: 2, SmallSize: 4, SmallBuffer: 8, MinLargeAlloc: 10, LargeBuffer: 20,
		RoundLarge: 2, DivisionsStart: 4, MaxRequest: 1 << 16, MiB: 3,
	}
}

// acceptedSettings says what each key sets: in the expected Config, everything
// that the function does not touch is the default.
var acceptedSettings = []struct {
	settings string
	want     func(c *spec.Config)
}{
	{"", func(c *spec.Config) {}},
	{" \t\n\v\f\r", func(c *spec.Config) {}},

	{"max_split_size_mb:20", func(c *spec.Config) { c.MaxSplitSize = 20 * mib }},
	{"max_split_size_mb:-1", func(c *spec.Config) { c.MaxSplitSize = largestMiB }},
	{"max_split_size_mb:+30", func(c *spec.Config) { c.MaxSplitSize = 30 * mib }},
	{"max_split_size_mb:030", func(c *spec.Config) { c.MaxSplitSize = 30 * mib }},
	{"max_split_size_mb:17592186044415", func(c *spec.Config) { c.MaxSplitSize = largestMiB }},
	{"max_split_size_mb:17592186044416", func(c *spec.Config) { c.MaxSplitSize = largestMiB }},
	{"max_non_split_rounding_mb:21", func(c *spec.Config) { c.MaxNonSplitRounding = 21 * mib }},
	{"garbage_collection_threshold:0.5", func(c *spec.Config) { c.GarbageCollectionThreshold = 0.5 }},
	{"garbage_collection_threshold:+5e-1", func(c *spec.Config) { c.GarbageCollectionThreshold = 0.5 }},
	{"garbage_collection_threshold:.25", func(c *spec.Config) { c.GarbageCollectionThreshold = 0.25 }},
	{"expandable_segments:True", func(c *spec.Config) { c.ExpandableSegments = true }},
	{"expandable_segments:False", func(c *spec.Config) {}},
	{"large_segment_size_mb:64", func(c *spec.Config) {
		c.LargeSegmentSize = 64 * mib
		c.MaxNonSplitRounding = 64 * mib
	}},
	{"large_segment_size_mb:11", func(c *spec.Config) {
		c.LargeSegmentSize = 11 * mib
		c.MaxNonSplitRounding = 11 * mib
	}},
	{"release_lock_on_cudamalloc:True", func(c *spec.Config) { c.ReleaseLockOnMalloc = true }},
	{"release_lock_on_hipmalloc:True", func(c *spec.Config) { c.ReleaseLockOnMalloc = true }},
	{"graph_capture_record_stream_reuse:True", func(c *spec.Config) { c.GraphCaptureRecordStreamReuse = true }},
	{"per_process_memory_fraction:0.5", func(c *spec.Config) { c.PerProcessMemoryFraction = 0.5 }},
	{"per_process_memory_fraction:0", func(c *spec.Config) { c.PerProcessMemoryFraction = 0 }},
	{"per_process_memory_fraction:-0e9", func(c *spec.Config) { c.PerProcessMemoryFraction = 0 }},
	{"per_process_memory_fraction:0E9", func(c *spec.Config) { c.PerProcessMemoryFraction = 0 }},
	{"per_process_memory_fraction:1.0", func(c *spec.Config) {}},
	{"backend:native", func(c *spec.Config) {}},

	{"pinned_use_cuda_host_register:True", func(c *spec.Config) { c.Pinned.UseCUDAHostRegister = true }},
	{"pinned_use_hip_host_register:True", func(c *spec.Config) { c.Pinned.UseCUDAHostRegister = true }},
	{"pinned_num_register_threads:128", func(c *spec.Config) { c.Pinned.NumRegisterThreads = 128 }},
	{"pinned_use_background_threads:True", func(c *spec.Config) { c.Pinned.UseBackgroundThreads = true }},
	{"pinned_reserve_segment_size_mb:10", func(c *spec.Config) { c.Pinned.ReserveSegmentSize = 10 * mib }},
	{"pinned_reserve_segment_size_mb:-1", func(c *spec.Config) { c.Pinned.ReserveSegmentSize = largestMiB }},

	// White space and commas.
	{" max_split_size_mb : 100 ", func(c *spec.Config) { c.MaxSplitSize = 100 * mib }},
	{"max_split _size_mb: 1 0\t0", func(c *spec.Config) { c.MaxSplitSize = 100 * mib }},
	{"max_split_size_mb:100,", func(c *spec.Config) { c.MaxSplitSize = 100 * mib }},
	{"max_split_size_mb:100,garbage_collection_threshold:0.6", func(c *spec.Config) {
		c.MaxSplitSize = 100 * mib
		c.GarbageCollectionThreshold = 0.6
	}},

	// Order: the large segment size comes first wherever it stands, and what is
	// not below it is judged by it.
	{"max_split_size_mb:12,large_segment_size_mb:12", func(c *spec.Config) {
		c.MaxSplitSize = 12 * mib
		c.LargeSegmentSize = 12 * mib
		c.MaxNonSplitRounding = 12 * mib
	}},
	{"max_non_split_rounding_mb:40,large_segment_size_mb:32", func(c *spec.Config) {
		c.LargeSegmentSize = 32 * mib
		c.MaxNonSplitRounding = 40 * mib
	}},
	{"large_segment_size_mb:64,max_split_size_mb:30,large_segment_size_mb:24", func(c *spec.Config) {
		c.MaxSplitSize = 30 * mib
		c.LargeSegmentSize = 24 * mib
		c.MaxNonSplitRounding = 24 * mib
	}},
	{"max_split_size_mb:100,max_split_size_mb:50", func(c *spec.Config) { c.MaxSplitSize = 50 * mib }},
	{"expandable_segments:True,expandable_segments:False", func(c *spec.Config) {}},
}

func TestParseConfig(t *testing.T) {
	for _, test := range acceptedSettings {
		g := spec.DefaultGeometry()
		want := spec.DefaultConfig(g)
		test.want(&want)
		want.Last = test.settings
		got, err := settings.Parse(test.settings, g)
		if err != nil {
			t.Errorf("%q: %v", test.settings, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.settings, diff)
		}
	}
}

// refusedSettings says for each mistake what the error names.
var refusedSettings = []struct {
	settings string
	want     settings.Error
}{
	// The grammar.
	{",", settings.Error{"", ",", 0, "expected a key"}},
	{":", settings.Error{"", ":", 0, "expected a key"}},
	{"backend:native,,", settings.Error{"", ",", 15, "expected a key"}},
	{"backend:native,[", settings.Error{"", "[", 15, "expected a key"}},
	{"unknown:1", settings.Error{"unknown", "unknown", 0, "unknown key"}},
	{"backend:native, throw_on_cudamalloc_oom:True", settings.Error{"throw_on_cudamalloc_oom", "throw_on_cudamalloc_oom", 16, "unknown key; other releases have it"}},
	{"Backend:native", settings.Error{"Backend", "Backend", 0, "unknown key; did you mean backend?"}},
	{"max_split_size_mb 100", settings.Error{"max_split_size_mb100", "max_split_size_mb100", 0, "unknown key; did you mean max_split_size_mb?"}},
	{"max_split_size_mb", settings.Error{"max_split_size_mb", "", 17, "expected ':' after the key"}},
	{"max_split_size_mb,100", settings.Error{"max_split_size_mb", ",", 17, "expected ':' after the key"}},
	{"max_split_size_mb: ", settings.Error{"max_split_size_mb", "", 19, "expected a value"}},
	{"max_split_size_mb::100", settings.Error{"max_split_size_mb", ":", 18, "expected a value"}},
	{"backend:native:expandable_segments:True", settings.Error{"backend", ":", 14, "expected ',' or the end of the string"}},
	{"backend:native]", settings.Error{"backend", "]", 14, "expected ',' or the end of the string"}},
	{"max_split_size_mb:[100]", settings.Error{"max_split_size_mb", "[", 18, "expected a value"}},
	{"roundup_power2_divisions:[256:1,512:2", settings.Error{"roundup_power2_divisions", "", 37, "expected ',' or ']'"}},
	{"roundup_power2_divisions:]", settings.Error{"roundup_power2_divisions", "]", 25, "expected a value"}},
	{"roundup_power2_divisions:[", settings.Error{"roundup_power2_divisions", "", 26, "expected an entry of the list, or ']'"}},
	{"roundup_power2_divisions:[,4:2]", settings.Error{"roundup_power2_divisions", ",", 26, "expected an entry of the list, or ']'"}},
	{"roundup_power2_divisions:[4]", settings.Error{"roundup_power2_divisions", "]", 27, "expected ':' in the entry"}},
	{"roundup_power2_divisions:[4:]", settings.Error{"roundup_power2_divisions", "]", 28, "expected the value of the entry"}},
	{"roundup_power2_divisions:[4:2:8]", settings.Error{"roundup_power2_divisions", ":", 29, "expected ',' or ']'"}},
	{"roundup_power2_divisions:[4:[2]]", settings.Error{"roundup_power2_divisions", "[", 28, "expected the value of the entry"}},

	// The values.
	{"max_split_size_mb:19", settings.Error{"max_split_size_mb", "19", 18, "must be at least 20, the large segment size"}},
	{"max_split_size_mb:31,large_segment_size_mb:32", settings.Error{"max_split_size_mb", "31", 18, "must be at least 32, the large segment size"}},
	{"max_split_size_mb:abc", settings.Error{"max_split_size_mb", "abc", 18, "must be a whole number"}},
	{"max_split_size_mb:100abc", settings.Error{"max_split_size_mb", "100abc", 18, "must be a whole number"}},
	{"max_split_size_mb:0x64", settings.Error{"max_split_size_mb", "0x64", 18, "must be a whole number"}},
	{"max_split_size_mb:1_00", settings.Error{"max_split_size_mb", "1_00", 18, "must be a whole number"}},
	{"max_split_size_mb:100.0", settings.Error{"max_split_size_mb", "100.0", 18, "must be a whole number"}},
	{"max_split_size_mb:+-100", settings.Error{"max_split_size_mb", "+-100", 18, "must be a whole number"}},
	{"max_split_size_mb:-+100", settings.Error{"max_split_size_mb", "-+100", 18, "must be a whole number"}},
	{"max_split_size_mb:-", settings.Error{"max_split_size_mb", "-", 18, "must be a whole number"}},
	{"max_split_size_mb:18446744073709551616", settings.Error{"max_split_size_mb", "18446744073709551616", 18, "must be below 2^64"}},
	{"max_non_split_rounding_mb:19", settings.Error{"max_non_split_rounding_mb", "19", 26, "must be at least 20, the large segment size"}},
	{"max_non_split_rounding_mb:x", settings.Error{"max_non_split_rounding_mb", "x", 26, "must be a whole number"}},
	{"large_segment_size_mb:10", settings.Error{"large_segment_size_mb", "10", 22, "must be above 10"}},
	{"large_segment_size_mb:x", settings.Error{"large_segment_size_mb", "x", 22, "must be a whole number"}},
	{"large_segment_size_mb:-1", settings.Error{"large_segment_size_mb", "-1", 22, "must be below 1099511627776"}},
	{"large_segment_size_mb:1099511627776", settings.Error{"large_segment_size_mb", "1099511627776", 22, "must be below 1099511627776"}},
	{"garbage_collection_threshold:0", settings.Error{"garbage_collection_threshold", "0", 29, "must be above 0 and below 1"}},
	{"garbage_collection_threshold:1", settings.Error{"garbage_collection_threshold", "1", 29, "must be above 0 and below 1"}},
	{"garbage_collection_threshold:1e999", settings.Error{"garbage_collection_threshold", "1e999", 29, "must be above 0 and below 1"}},
	{"garbage_collection_threshold:0.5x", settings.Error{"garbage_collection_threshold", "0.5x", 29, "must be a decimal number"}},
	{"garbage_collection_threshold:0x1p-1", settings.Error{"garbage_collection_threshold", "0x1p-1", 29, "must be a decimal number"}},
	{"garbage_collection_threshold:nan", settings.Error{"garbage_collection_threshold", "nan", 29, "must be a decimal number"}},
	{"garbage_collection_threshold:.", settings.Error{"garbage_collection_threshold", ".", 29, "must be a decimal number"}},
	{"per_process_memory_fraction:-0.1", settings.Error{"per_process_memory_fraction", "-0.1", 28, "must be from 0 to 1"}},
	{"per_process_memory_fraction:1.1", settings.Error{"per_process_memory_fraction", "1.1", 28, "must be from 0 to 1"}},
	{"per_process_memory_fraction:inf", settings.Error{"per_process_memory_fraction", "inf", 28, "must be a decimal number"}},
	{"per_process_memory_fraction:1E-999", settings.Error{"per_process_memory_fraction", "1E-999", 28, "must not be that close to 0"}},
	{"per_process_memory_fraction:1e-310", settings.Error{"per_process_memory_fraction", "1e-310", 28, "must not be that close to 0"}},
	{"expandable_segments:true", settings.Error{"expandable_segments", "true", 20, "must be True or False"}},
	{"expandable_segments:1", settings.Error{"expandable_segments", "1", 20, "must be True or False"}},
	{"backend:cudaMallocAsync", settings.Error{"backend", "cudaMallocAsync", 8, "must be native, the only allocator here"}},
	{"pinned_num_register_threads:3", settings.Error{"pinned_num_register_threads", "3", 28, "must be a power of two up to 128"}},
	{"pinned_num_register_threads:0", settings.Error{"pinned_num_register_threads", "0", 28, "must be a power of two up to 128"}},
	{"pinned_num_register_threads:256", settings.Error{"pinned_num_register_threads", "256", 28, "must be a power of two up to 128"}},
	{"pinned_num_register_threads:x", settings.Error{"pinned_num_register_threads", "x", 28, "must be a whole number"}},
	{"pinned_reserve_segment_size_mb:0", settings.Error{"pinned_reserve_segment_size_mb", "0", 31, "must be above 0"}},
	{"pinned_reserve_segment_size_mb:x", settings.Error{"pinned_reserve_segment_size_mb", "x", 31, "must be a whole number"}},
	{"roundup_power2_divisions:3", settings.Error{"roundup_power2_divisions", "3", 25, "must be a power of two"}},
	{"roundup_power2_divisions:0", settings.Error{"roundup_power2_divisions", "0", 25, "must be a power of two"}},
	{"roundup_power2_divisions:x", settings.Error{"roundup_power2_divisions", "x", 25, "must be a whole number"}},
	{"roundup_power2_divisions:[4:3]", settings.Error{"roundup_power2_divisions", "3", 28, "must be a power of two, or 0 for off"}},
	{"roundup_power2_divisions:[4:x]", settings.Error{"roundup_power2_divisions", "x", 28, "must be a whole number"}},
	{"roundup_power2_divisions:[100:1,>:8]", settings.Error{"roundup_power2_divisions", "100", 26, "must be a power of two, or '>'"}},
	{"roundup_power2_divisions:[0:1]", settings.Error{"roundup_power2_divisions", "0", 26, "must be a power of two, or '>'"}},
	{"roundup_power2_divisions:[x:1]", settings.Error{"roundup_power2_divisions", "x", 26, "must be a whole number"}},

	// The offset is where the word begins; white space is no part of the text.
	{"\n max_split_size_mb : 1 9", settings.Error{"max_split_size_mb", "19", 22, "must be at least 20, the large segment size"}},
	// A mistake undoes what stands before it, and the resets.
	{"expandable_segments:True,max_split_size_mb:30,backend:x", settings.Error{"backend", "x", 54, "must be native, the only allocator here"}},
	{"large_segment_size_mb:30,large_segment_size_mb:5", settings.Error{"large_segment_size_mb", "5", 47, "must be above 10"}},
}

// TestApplyRefuses applies the strings to settings that are not the default, which
// must all stay.
func TestApplyRefuses(t *testing.T) {
	for _, test := range refusedSettings {
		g := spec.DefaultGeometry()
		before, err := settings.Parse("max_split_size_mb:40,roundup_power2_divisions:4,garbage_collection_threshold:0.5", g)
		if err != nil {
			t.Fatal(err)
		}
		after, err := settings.Apply(before, test.settings, g)
		if diff := cmp.Diff(error(&test.want), err); diff != "" {
			t.Errorf("%q: error (-want +got):\n%s", test.settings, diff)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q: refused, but settings changed (-before +after):\n%s", test.settings, diff)
		}
	}
}

// settingsSequence is strings that are applied one after the other to one Config,
// and what each of them changes in it: what a string resets, and what persists.
var settingsSequence = []struct {
	settings string
	refused  bool
	change   func(c *spec.Config)
}{
	{
		settings: "max_split_size_mb:40,garbage_collection_threshold:0.5,roundup_power2_divisions:4,max_non_split_rounding_mb:30," +
			"expandable_segments:True,release_lock_on_cudamalloc:True,graph_capture_record_stream_reuse:True," +
			"per_process_memory_fraction:0.25,pinned_num_register_threads:8,pinned_use_background_threads:True," +
			"pinned_use_cuda_host_register:True,pinned_reserve_segment_size_mb:5",
		change: func(c *spec.Config) {
			c.MaxSplitSize = 40 * mib
			c.GarbageCollectionThreshold = 0.5
			for i := range c.Divisions {
				c.Divisions[i] = 4
			}
			c.MaxNonSplitRounding = 30 * mib
			c.ExpandableSegments = true
			c.ReleaseLockOnMalloc = true
			c.GraphCaptureRecordStreamReuse = true
			c.PerProcessMemoryFraction = 0.25
			c.Pinned.UseCUDAHostRegister, c.Pinned.UseBackgroundThreads = true, true
			c.Pinned.NumRegisterThreads, c.Pinned.ReserveSegmentSize = 8, 5*mib
		},
	},
	{settings: "max_split_size_mb:50,unknown:1", refused: true, change: func(c *spec.Config) {}},
	{
		settings: "", // resets, and nothing else
		change: func(c *spec.Config) {
			c.MaxSplitSize = spec.Unlimited
			c.GarbageCollectionThreshold = 0
			c.Divisions = [spec.NumDivisions]uint64{}
			c.MaxNonSplitRounding = 20 * mib
		},
	},
	{
		settings: "large_segment_size_mb:50,max_non_split_rounding_mb:60",
		change: func(c *spec.Config) {
			c.LargeSegmentSize = 50 * mib
			c.MaxNonSplitRounding = 60 * mib
		},
	},
	// below the 50 that persist
	{settings: "max_split_size_mb:40", refused: true, change: func(c *spec.Config) {}},
	{
		settings: "max_split_size_mb:50",
		change: func(c *spec.Config) {
			c.MaxSplitSize = 50 * mib
			c.MaxNonSplitRounding = 50 * mib
		},
	},
	{
		settings: "expandable_segments:False",
		change: func(c *spec.Config) {
			c.MaxSplitSize = spec.Unlimited
			c.ExpandableSegments = false
		},
	},
	{
		settings: "large_segment_size_mb:20",
		change: func(c *spec.Config) {
			c.LargeSegmentSize = 20 * mib
			c.MaxNonSplitRounding = 20 * mib
		},
	},
}

func TestApplySequence(t *testing.T) {
	g := spec.DefaultGeometry()
	got, want := spec.DefaultConfig(g), spec.DefaultConfig(g)
	for _, step := range settingsSequence {
		var err error
		got, err = settings.Apply(got, step.settings, g)
		if (err != nil) != step.refused {
			t.Fatalf("%q: refused is %v, want %v (%v)", step.settings, err != nil, step.refused, err)
		}
		step.change(&want)
		if !step.refused {
			want.Last = step.settings
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %q (-want +got):\n%s", step.settings, diff)
		}
	}
}

// TestSettingsOnTinyDevice: every size follows the geometry.
func TestSettingsOnTinyDevice(t *testing.T) {
	g := tinyGeometry()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text   string
		change func(c *spec.Config) // nil: refused
		reason string
	}{
		{text: "", change: func(c *spec.Config) {}},
		{text: "max_split_size_mb:7", change: func(c *spec.Config) { c.MaxSplitSize = 21 }},
		// 18 bytes of 20
		{text: "max_split_size_mb:6", reason: "must be at least 7, the large segment size"},
		{text: "max_split_size_mb:-1", change: func(c *spec.Config) { c.MaxSplitSize = math.MaxUint64 }},
		{text: "large_segment_size_mb:4", change: func(c *spec.Config) { c.LargeSegmentSize, c.MaxNonSplitRounding = 12, 12 }},
		{text: "large_segment_size_mb:3", reason: "must be above 3"}, // 9 bytes of 10
		{text: "large_segment_size_mb:5", reason: "must be a multiple of 2 bytes, the smallest block"},
		{text: "large_segment_size_mb:21844", change: func(c *spec.Config) { c.LargeSegmentSize, c.MaxNonSplitRounding = 65532, 65532 }},
		{text: "large_segment_size_mb:21846", reason: "must be below 21846"},
		{text: "roundup_power2_divisions:[2:4]", change: func(c *spec.Config) { c.Divisions[0], c.Divisions[1] = 4, 4 }},
	} {
		want := spec.DefaultConfig(g)
		got, err := settings.Parse(test.text, g)
		if test.change == nil {
			var refusal *settings.Error
			if !errors.As(err, &refusal) || refusal.Reason != test.reason {
				t.Errorf("%q: %v, want the reason %q", test.text, err, test.reason)
			}
		} else {
			if err != nil {
				t.Errorf("%q: %v", test.text, err)
			}
			test.change(&want)
			want.Last = test.text
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestSettingsAsPyTorch holds the parser against what PyTorch 2.11.0 said to the
// strings of testdata/settings.tsv when they were set in a running program.
func TestSettingsAsPyTorch(t *testing.T) {
	rows := readSettingsTSV(t)
	seen := map[string]int{}
	for _, row := range rows {
		_, err := settings.Parse(row.settings, spec.DefaultGeometry())
		got := "accepted"
		if err != nil {
			got = "rejected"
		}
		if got != row.result {
			t.Errorf("%q: %s (%v), PyTorch says %s", row.settings, got, err, row.result)
		}
		seen[row.result]++
	}
	if seen["accepted"] < 20 || seen["rejected"] < 15 || len(seen) != 2 {
		t.Errorf("testdata/settings.tsv has too little to say: %v", seen)
	}
}

type settingsRow struct{ settings, result string }

func readSettingsTSV(t testing.TB) (rows []settingsRow) {
	f, err := os.Open("testdata/settings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			t.Fatalf("testdata/settings.tsv: %q has %d fields, want 3", lines.Text(), len(fields))
		}
		rows = append(rows, settingsRow{fields[0], fields[1]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestLongestString: a string of MaxLength bytes is read, a longer one is refused at once, and
// the message shows little of it.
func TestLongestString(t *testing.T) {
	g := spec.DefaultGeometry()
	longest := "max_split_size_mb:64" + strings.Repeat(",", 1) + strings.Repeat(" ", settings.MaxLength-21)
	if c, err := settings.Parse(longest, g); err != nil || c.MaxSplitSize != 64*spec.MiB {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
	for _, text := range []string{longest + " ", strings.Repeat("expandable_segments:True,", 1<<16), strings.Repeat("[", 1<<20)} {
		_, err := settings.Parse(text, g)
		if err == nil || !strings.Contains(err.Error(), "at most 16384 are read") || len(err.Error()) > 400 {
			t.Errorf("%d bytes: %.500v", len(text), err)
		}
	}
	if _, err := settings.Parse(strings.Repeat("x", 10_000)+":1", g); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long key: a message of %d bytes", len(err.Error()))
	}
}
