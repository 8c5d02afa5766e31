package spec_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
)

func TestStat(t *testing.T) {
	var s spec.Stat
	for _, step := range []struct {
		name string
		do   func()
		want spec.Stat
	}{
		{"increase", func() { s.Increase(5) }, spec.Stat{Current: 5, Peak: 5, Allocated: 5}},
		{"decrease", func() { s.Decrease(3) }, spec.Stat{Current: 2, Peak: 5, Allocated: 5, Freed: 3}},
		{"increase below the peak", func() { s.Increase(2) }, spec.Stat{Current: 4, Peak: 5, Allocated: 7, Freed: 3}},
		{"reset the peak", func() { s.ResetPeak() }, spec.Stat{Current: 4, Peak: 4, Allocated: 7, Freed: 3}},
		{"reset the sums", func() { s.ResetAccumulated() }, spec.Stat{Current: 4, Peak: 4}},
		{"decrease to nothing", func() { s.Decrease(4) }, spec.Stat{Current: 0, Peak: 4, Freed: 4}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, s); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestStatArrayEquations: whatever is added and taken, in whatever order, the
// figure of all pools is the sum over the pools, its peak is the highest that this
// sum has been, and the sums of increases and decreases account for the rest.
func TestStatArrayEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a spec.StatArray
		var peak int64
		steps := rapid.SliceOf(rapid.Int64Range(-1000, 1000)).Draw(t, "amounts")
		pools := rapid.SliceOfN(rapid.SampledFrom([]spec.PoolKind{spec.SmallPool, spec.LargePool}), len(steps), len(steps)).Draw(t, "pools")
		for i, amount := range steps {
			if amount >= 0 {
				a.Increase(pools[i], amount)
			} else {
				a.Decrease(pools[i], -amount)
			}
			all, small, large := a[spec.Aggregate], a[spec.StatSmallPool], a[spec.StatLargePool]
			peak = max(peak, small.Current+large.Current)
			want := spec.Stat{
				Current:   small.Current + large.Current,
				Peak:      peak,
				Allocated: small.Allocated + large.Allocated,
				Freed:     small.Freed + large.Freed,
			}
			if diff := cmp.Diff(want, all); diff != "" {
				t.Fatalf("after %d steps, all pools (-want +got):\n%s", i+1, diff)
			}
			if all.Allocated-all.Freed != all.Current {
				t.Fatalf("after %d steps: allocated - freed = %d, current is %d", i+1, all.Allocated-all.Freed, all.Current)
			}
		}
	})
}

func TestStatTypeString(t *testing.T) {
	got := []string{spec.Aggregate.String(), spec.StatSmallPool.String(), spec.StatLargePool.String()}
	if diff := cmp.Diff([]string{"all", "small_pool", "large_pool"}, got); diff != "" {
		t.Error(diff)
	}
}

// numberedStats has a different number, from 1, in each figure.
func numberedStats() (stats spec.DeviceStats, figures int) {
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Int64:
			figures++
			v.SetInt(int64(figures))
		}
	}
	fill(reflect.ValueOf(&stats).Elem())
	return stats, figures
}

// TestStatsEach: every figure is visited once, under a key of its own, and the
// keys name what they should.
func TestStatsEach(t *testing.T) {
	stats, figures := numberedStats()
	var values []int64
	keys := map[string]bool{}
	stats.Each(func(key string, value int64) {
		keys[key] = true
		values = append(values, value)
	})
	if len(keys) != figures {
		t.Errorf("%d keys for %d figures", len(keys), figures)
	}
	slices.Sort(values)
	for i, value := range values {
		if value != int64(i+1) {
			t.Fatalf("figures are left out or visited twice: %v", values)
		}
	}

	m := stats.Map()
	for key, want := range map[string]int64{
		"allocation.all.current":              stats.Allocation[spec.Aggregate].Current,
		"segment.small_pool.peak":             stats.Segment[spec.StatSmallPool].Peak,
		"active.large_pool.allocated":         stats.Active[spec.StatLargePool].Allocated,
		"inactive_split.all.freed":            stats.InactiveSplit[spec.Aggregate].Freed,
		"allocated_bytes.all.current":         stats.AllocatedBytes[spec.Aggregate].Current,
		"reserved_bytes.all.peak":             stats.ReservedBytes[spec.Aggregate].Peak,
		"active_bytes.small_pool.current":     stats.ActiveBytes[spec.StatSmallPool].Current,
		"inactive_split_bytes.all.current":    stats.InactiveSplitBytes[spec.Aggregate].Current,
		"requested_bytes.large_pool.freed":    stats.RequestedBytes[spec.StatLargePool].Freed,
		"oversize_allocations.current":        stats.OversizeAllocations.Current,
		"oversize_segments.peak":              stats.OversizeSegments.Peak,
		"num_alloc_retries":                   stats.NumAllocRetries,
		"num_ooms":                            stats.NumOOMs,
		"num_sync_all_streams":                stats.NumSyncAllStreams,
		"num_device_alloc":                    stats.NumDeviceAlloc,
		"num_device_free":                     stats.NumDeviceFree,
		"max_split_size":                      stats.MaxSplitSize,
		"there is no such key, so it is zero": 0,
	} {
		if m[key] != want {
			t.Errorf("%s is %d, want %d", key, m[key], want)
		}
	}
}

// TestStatsEachOrder: the order is fixed, and that of the recorded columns.
func TestStatsEachOrder(t *testing.T) {
	var got []string
	new(spec.DeviceStats).Each(func(key string, _ int64) {
		got = append(got, key)
	})
	var statistics []string
	for _, array := range []string{
		"allocation", "segment", "active", "inactive_split",
		"allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes",
	} {
		statistics = append(statistics, array+".all", array+".small_pool", array+".large_pool")
	}
	var want []string
	for _, name := range append(statistics, "oversize_allocations", "oversize_segments") {
		want = append(want, name+".current", name+".peak", name+".allocated", name+".freed")
	}
	want = append(want, "num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free", "max_split_size")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatsReset(t *testing.T) {
	before, _ := numberedStats()

	after := before
	after.ResetPeak()
	want := before.Map()
	for key := range want {
		if figure, ok := strings.CutSuffix(key, ".peak"); ok {
			want[key] = want[figure+".current"]
		}
	}
	if diff := cmp.Diff(want, after.Map()); diff != "" {
		t.Errorf("ResetPeak (-want +got):\n%s", diff)
	}

	after = before
	after.ResetAccumulated()
	want = before.Map()
	for key := range want {
		if strings.HasSuffix(key, ".allocated") || strings.HasSuffix(key, ".freed") || strings.HasPrefix(key, "num_") {
			want[key] = 0
		}
	}
	if diff := cmp.Diff(want, after.Map()); diff != "" {
		t.Errorf("ResetAccumulated (-want +got):\n%s", diff)
	}
}

// TestStatsKeysAsPyTorch compares the keys with those that PyTorch recorded at the
// end of a trace.
func TestStatsKeysAsPyTorch(t *testing.T) {
	var want []string
	flatten("", recordedStats(t), &want)
	slices.Sort(want)
	stats := new(spec.DeviceStats)
	got := slices.Sorted(maps.Keys(stats.Map()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-recorded +got):\n%s", diff)
	}
}

// recordedStats gives the nested figures on the last line of a recorded trace.
func recordedStats(t *testing.T) map[string]any {
	files, err := checkout.OwnTraces()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(files["basic-1000"])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<24)
	var last []byte
	for lines.Scan() {
		last = bytes.Clone(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	var end struct{ Stats map[string]any }
	if err := json.Unmarshal(last, &end); err != nil {
		t.Fatal(err)
	}
	return end.Stats
}

// flatten lists the paths to the leaves, joined with dots.
func flatten(prefix string, tree map[string]any, paths *[]string) {
	for key, value := range tree {
		if branch, ok := value.(map[string]any); ok {
			flatten(prefix+key+".", branch, paths)
		} else {
			*paths = append(*paths, prefix+key)
		}
	}
}
