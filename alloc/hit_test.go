package alloc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestHitsEqualTheLongWay: the usual mallocs and frees do what those do that go through all steps.
// A twin records its history, so that it has no usual ones. Both get the same pointers and have the
// same statistics.
func TestHitsEqualTheLongWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings := rapid.SampledFrom([]string{
			"expandable_segments:False", "expandable_segments:True", "expandable_segments:False,max_split_size_mb:20",
			"expandable_segments:True,max_split_size_mb:22", "expandable_segments:False,roundup_power2_divisions:4",
		})
		first := settings.Draw(t, "settings")
		var twins [2]*alloc.Allocator
		for i := range twins {
			gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 2*spec.GiB)})
			a, err := alloc.New(gpu, alloc.Options{Settings: first})
			if err != nil {
				t.Fatal(err)
			}
			twins[i] = a
		}
		if err := twins[1].RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 1}); err != nil {
			t.Fatal(err)
		}
		var live []spec.Ptr
		free := func(i int) {
			for _, a := range twins {
				if err := a.Free(live[i]); err != nil {
					t.Fatal(err)
				}
			}
			live = append(live[:i], live[i+1:]...)
		}
		malloc := func(bytes uint64) {
			var ptrs [2]spec.Ptr
			var errs [2]error
			for i, a := range twins {
				ptrs[i], errs[i] = a.Malloc(spec.Request{Bytes: bytes})
			}
			if ptrs[0] != ptrs[1] || (errs[0] == nil) != (errs[1] == nil) {
				t.Fatalf("a malloc of %d bytes returns %v, %v, and with a history %v, %v", bytes, ptrs[0], errs[0], ptrs[1], errs[1])
			}
			if errs[0] == nil {
				live = append(live, ptrs[0])
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 20).Draw(t, "step"); {
			case step == 0:
				next := settings.Draw(t, "next settings")
				for _, a := range twins {
					if err := a.Configure(next); err != nil {
						t.Fatal(err)
					}
				}
			case step < 9 && len(live) > 0:
				free(rapid.IntRange(0, len(live)-1).Draw(t, "freed"))
			default:
				size := rapid.SampledFrom([]uint64{512, mib / 2, mib, 2 * mib, 10 * mib, 19 * mib, 20 * mib, 22 * mib, 40 * mib}).Draw(t, "size")
				malloc(size + 256*rapid.Uint64Range(0, 4).Draw(t, "more") - 512*rapid.Uint64Range(0, 1).Draw(t, "less") + 1)
			}
			var stats [2]spec.DeviceStats
			for i, a := range twins {
				var err error
				if stats[i], err = a.Stats(0); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(stats[1], stats[0]); diff != "" {
				t.Fatalf("-with a history +without one:\n%s", diff)
			}
		}
	})
}
