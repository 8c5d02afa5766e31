package settings_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// TestSettingsCanonical shows the form in which settings are written.
func TestSettingsCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"max_split_size_mb: 40,":    "max_split_size_mb:40",
		"max_split_size_mb:-1":      "max_split_size_mb:17592186044415",
		"expandable_segments:False": "",
		"max_non_split_rounding_mb:32,large_segment_size_mb:32": "large_segment_size_mb:32",
		"max_non_split_rounding_mb:20":                          "",
		"garbage_collection_threshold:5e-1":                     "garbage_collection_threshold:0.5",
		"per_process_memory_fraction:-0":                        "per_process_memory_fraction:0",
		"roundup_power2_divisions:[4:2,4:2,>:0,]":               "roundup_power2_divisions:[4:2]",
		"pinned_reserve_segment_size_mb:7,pinned_use_background_threads:True,pinned_num_register_threads:2," +
			"pinned_use_hip_host_register:True,per_process_memory_fraction:.5,graph_capture_record_stream_reuse:True," +
			"release_lock_on_hipmalloc:True,expandable_segments:True,roundup_power2_divisions:8," +
			"garbage_collection_threshold:0.25,max_non_split_rounding_mb:50,max_split_size_mb:60,large_segment_size_mb:40": //
		"large_segment_size_mb:40,max_split_size_mb:60,max_non_split_rounding_mb:50," +
			"garbage_collection_threshold:0.25,roundup_power2_divisions:8,expandable_segments:True," +
			"release_lock_on_cudamalloc:True,graph_capture_record_stream_reuse:True,per_process_memory_fraction:0.5," +
			"pinned_use_cuda_host_register:True,pinned_num_register_threads:2,pinned_use_background_threads:True," +
			"pinned_reserve_segment_size_mb:7",
	} {
		c, err := settings.Parse(text, spec.DefaultGeometry())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := settings.Format(c, spec.DefaultGeometry()); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestSettingsRoundTrip: any settings that a string can give are given again by
// what Settings writes.
func TestSettingsRoundTrip(t *testing.T) {
	for name, g := range map[string]spec.Geometry{"default": spec.DefaultGeometry(), "tiny": tinyGeometry()} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			want := drawConfig(t, g)
			want.Last = settings.Format(want, g)
			got, err := settings.Parse(want.Last, g)
			if err != nil {
				t.Fatalf("%q: %v", want.Last, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", want.Last, diff)
			}
		}))
	}
}

// drawConfig draws any Config that a settings string can give.
func drawConfig(t *rapid.T, g spec.Geometry) spec.Config {
	c := spec.DefaultConfig(g)
	maybe := func(what string) bool { return rapid.Bool().Draw(t, what) }
	// atLeast draws whole g.MiB of a number of bytes or more.
	atLeast := func(bytes uint64, most uint64, what string) uint64 {
		return g.MiB * rapid.Uint64Range((bytes+g.MiB-1)/g.MiB, most/g.MiB).Draw(t, what)
	}
	if maybe("sets large segment size") {
		c.LargeSegmentSize = atLeast(g.MinLargeAlloc+1, 1000*g.MiB, "large segment size")
		// to whole blocks, on the tiny device
		c.LargeSegmentSize += c.LargeSegmentSize % g.MinBlock * g.MiB
	}
	c.MaxNonSplitRounding = c.LargeSegmentSize
	if maybe("sets max non split rounding") {
		c.MaxNonSplitRounding = atLeast(c.LargeSegmentSize, math.MaxUint64, "max non split rounding")
	}
	if maybe("sets max split size") {
		c.MaxSplitSize = atLeast(c.LargeSegmentSize, math.MaxUint64, "max split size")
	}
	if maybe("sets threshold") {
		c.GarbageCollectionThreshold = rapid.Float64Range(1e-300, 1-1e-16).Draw(t, "threshold")
	}
	if maybe("sets fraction") {
		c.PerProcessMemoryFraction = rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-300, 1)).Draw(t, "fraction")
	}
	if maybe("sets divisions") {
		few := rapid.SampledFrom([]uint64{0, 1, 2, 64, 1 << 63})
		for i := range c.Divisions {
			c.Divisions[i] = few.Draw(t, "divisions")
		}
	}
	c.ExpandableSegments = maybe("expandable segments")
	c.ReleaseLockOnMalloc = maybe("release lock")
	c.GraphCaptureRecordStreamReuse = maybe("capture reuse")
	c.Pinned.UseCUDAHostRegister = maybe("host register")
	c.Pinned.UseBackgroundThreads = maybe("background threads")
	c.Pinned.NumRegisterThreads = 1 << rapid.IntRange(0, 7).Draw(t, "log2 of register threads")
	c.Pinned.ReserveSegmentSize = atLeast(0, math.MaxUint64, "reserve segment size")
	return c
}

// TestEveryFieldIsWritten: a field of spec.Config that no key writes would be lost by
// every trace and what-if. A new field without a line in keys fails here, by its name.
func TestEveryFieldIsWritten(t *testing.T) {
	g := spec.DefaultGeometry()
	check := func(name string, change func(c *spec.Config) reflect.Value) {
		c := spec.DefaultConfig(g)
		switch field := change(&c); field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Uint64:
			field.SetUint(64 * spec.MiB)
		case reflect.Float64:
			field.SetFloat(0.5)
		case reflect.Array:
			field.Index(0).SetUint(8)
		case reflect.Struct: // a Reserve
			field.Field(0).SetFloat(0.5)
		case reflect.String: // ReserveByClass
			field.SetString("class 0.5 0")
		default:
			t.Fatalf("%s is a %v, which this test does not know", name, field.Kind())
		}
		if settings.Format(c, g) == "" {
			t.Errorf("no key writes spec.Config.%s", name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[spec.Config]()) {
		switch f.Name {
		case "Last": // the string itself
		case "Pinned":
			for _, p := range reflect.VisibleFields(f.Type) {
				check("Pinned."+p.Name, func(c *spec.Config) reflect.Value {
					return reflect.ValueOf(&c.Pinned).Elem().FieldByIndex(p.Index)
				})
			}
		default:
			check(f.Name, func(c *spec.Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(f.Index) })
		}
	}
}
