package tell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestRequestText: PyTorch's message has the size of the segment, which is told if a request failed
// in the record.
func TestRequestText(t *testing.T) {
	oom := &play.OutOfMemory{Requested: 5 * spec.MiB}
	for _, test := range []struct {
		recorded bool
		ooms     int
		bytes    uint64
		want     string
	}{
		{true, 1, 5 * spec.MiB, `5.00 MiB ("Tried to allocate 20.00 MiB" in PyTorch's message, which has the size of the segment)`},
		{false, 1, 5 * spec.MiB, "5.00 MiB"}, {true, 0, 5 * spec.MiB, "5.00 MiB"}, {true, 1, 20 * spec.MiB, "20.00 MiB"},
	} {
		c := &compare.Comparison{Workload: &history.Workload{Settings: history.DefaultSettings()}}
		c.Workload.Unrecorded.OOMs = test.ooms
		oom.Requested = test.bytes
		if got := (Answer{c}).requestText(&compare.Prediction{Recorded: test.recorded}, oom); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	if hair(1) != "1 byte" || hair(spec.MiB-1) != "1048575 bytes" || hair(spec.MiB) != "1024.00 KiB" {
		t.Errorf("%s, %s", hair(spec.MiB-1), hair(spec.MiB))
	}
}

// TestNumberOfLimit: JSON has a number for the limit, except if there was likely none.
func TestNumberOfLimit(t *testing.T) {
	for _, test := range []struct {
		doubtful int
		given    bool
		want     bool
	}{{0, false, true}, {0, true, true}, {1, false, false}, {1, true, true}} {
		w := &history.Workload{Limit: history.LimitBounds{Kind: history.UnknownLimit, Least: 700, Most: 900}}
		w.Unrecorded.DoubtfulFrees, w.Unrecorded.Refusals = test.doubtful, 1
		c := &compare.Comparison{Workload: w, Given: test.given, Readings: []history.Reading{{Limits: history.Limits{Device: 700}}}}
		if got := (Answer{c}).jsonLimit(); (got.Bytes != nil) != test.want || got.Range == nil {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// TestNeedsLess: expandable segments are named if they were not compared, and only where what is
// missing is less than a segment under a memory fraction.
func TestNeedsLess(t *testing.T) {
	segment := uint64(spec.DefaultConfig(spec.DefaultGeometry()).LargeSegmentSize)
	const limit = 100 * spec.MiB
	fraction, device := history.Limits{Fraction: limit}, history.Limits{Device: limit}
	for _, test := range []struct {
		limits   history.Limits
		over     uint64
		settings string
		want     bool
	}{
		{fraction, segment - 1, "", true}, {fraction, segment, "", false}, {device, segment - 1, "", false},
		{fraction, segment - 1, "expandable_segments:True", false}, {device, segment, "", false},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Requests: []history.Request{{Kind: history.Malloc, Bytes: limit + test.over}}, Allocations: 1}
		c := &compare.Comparison{Workload: w, Readings: []history.Reading{{Limits: test.limits}}, Given: true, Predictions: []compare.Prediction{{Settings: mustParse(t, test.settings)}}}
		if got := (Answer{c}).needsLess(); strings.Contains(got, "expandable_segments") != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestShownRows: of many predictions the present one is shown even if it is the last one.
func TestShownRows(t *testing.T) {
	c := &compare.Comparison{Workload: &history.Workload{Settings: history.DefaultSettings()}}
	for i := range uint64(2 * mostRows) {
		p := compare.Prediction{Settings: mustParse(t, fmt.Sprintf("max_split_size_mb:%d", 100+i))}
		p.PeakReserved = (i + 1) * spec.GiB
		c.Predictions = append(c.Predictions, p)
	}
	now := &c.Predictions[len(c.Predictions)-1]
	now.Settings = history.DefaultSettings()
	shown := (Answer{c}).Shown(false)
	if len(shown) != mostRows || !slices.Contains(shown, now) || len((Answer{c}).Shown(true)) != 2*mostRows {
		t.Errorf("%d rows are shown, that of the present settings among them: %v", len(shown), slices.Contains(shown, now))
	}
}

// TestColumnsOfNarrowTable: a narrow table leaves out one column after the other, the least
// important first; the first three stay.
func TestColumnsOfNarrowTable(t *testing.T) {
	c := &compare.Comparison{Workload: &history.Workload{Settings: history.DefaultSettings()}, Readings: []history.Reading{{}}, LimitSearch: true}
	c.Predictions = []compare.Prediction{{Settings: mustParse(t, "max_split_size_mb:100")}}
	columns := []string{"settings", "peak reserved", "out of memory", "smallest limit", "alloc retries", "peak allocated", "unallocated", "device allocs+frees"}
	var counts []int
	for width := 200; width > 20; width-- {
		table := (Answer{c}).Table(TableOptions{Width: width})
		n := 0
		for i, name := range columns {
			if strings.Contains(table, name) {
				if n++; n != i+1 {
					t.Errorf("%d wide, with %q and without a column that is more important:\n%s", width, name, table)
				}
			}
		}
		if len(counts) == 0 || counts[len(counts)-1] != n {
			counts = append(counts, n)
		}
	}
	if want := []int{8, 7, 6, 5, 4, 3}; !slices.Equal(counts, want) {
		t.Errorf("the tables have %v columns, not %v", counts, want)
	}
}

// TestReasonsInWords: each reason why a prediction is not exact is told.
func TestReasonsInWords(t *testing.T) {
	w := &history.Workload{Settings: history.DefaultSettings(), InitialSegments: []spec.Segment{{AllocatedSize: 512}}}
	w.Unrecorded = history.Unrecorded{
		PendingFrees: 1, OOMs: 2, Skipped: []spec.Action{spec.ActionFreeRequested},
		Unknown: []snapshot.UnknownAction{{Action: "segment_import", Entries: 3}}, UnknownSettings: []string{"page_size:1g"},
	}
	differences := []play.Difference{{Kind: play.NotRepeated, Err: errors.New("one")}, {Kind: play.SegmentNumber, Numbers: [2]int{2, 3}}}
	c := Answer{&compare.Comparison{Workload: w, Verification: play.Verification{Differences: differences}}}
	for reason, want := range map[compare.InexactReason]string{
		compare.DriverAddresses: "they depend on the addresses", compare.StreamTiming: "1 free had to wait for other streams", compare.PoolMembership: "there are private pools",
		compare.MissingStart: "the beginning of the history is missing, and 512 bytes was allocated before", compare.FailedRequests: "2 requests failed in the recorded run",
		compare.OptionalRequests: "a request fails that a program can do without", compare.ChangedSettings: "the program changed the settings", compare.EmptyCacheCalls: "the program called empty_cache",
		compare.UnknownRecord:  "3 entries of the history with the action \"segment_import\", which is not known here; the setting \"page_size:1g\" of the recorded run is not known here",
		compare.SkippedActions: "free_requested entries were not recorded", compare.RecordMismatch: "the recorded requests cannot be repeated: one; the snapshot has 2 segments, and its replay 3", compare.RunFailed: "the recorded requests cannot be repeated under these settings",
	} {
		if got := strings.Join(c.explain(reason, &compare.Prediction{}), "; "); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", reason, got)
		}
	}
}

// mustParse reads settings.
func mustParse(t *testing.T, text string) history.Settings {
	t.Helper()
	s, err := history.ParseSettings(text, upstream.Newest())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is said of comparisons, of which each has one property.

func TestCauses(t *testing.T) {
	failed := &play.OutOfMemory{Requested: 20 * spec.MiB, LargestFreeBlock: 20 * spec.MiB}
	for _, test := range []struct {
		what string
		now  compare.Prediction
		want compare.Cause
	}{
		{"no prediction was made", compare.Prediction{Err: errors.New("no")}, compare.UnknownCause},
		{"nothing fails", compare.Prediction{}, compare.NoCause},
		{"a block of the size of the request is free", compare.Prediction{Outcome: play.Outcome{FirstOOM: failed}}, compare.Shortage},
		{"a request of a pool", compare.Prediction{Outcome: play.Outcome{FirstOOM: &play.OutOfMemory{InPool: true}}}, compare.PoolCause},
	} {
		w := &history.Workload{}
		if test.want == compare.PoolCause {
			w.Unrecorded.PoolFailures = 1
		}
		c := &compare.Comparison{Workload: w, Predictions: []compare.Prediction{test.now}, Readings: []history.Reading{{}}}
		if got := c.Cause(); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
		if why := (Answer{c}).why(); test.want == compare.Shortage && !strings.Contains(why, "made again, the request succeeds") {
			t.Errorf("%s: %s", test.what, why)
		}
	}
}

func TestLimitNotes(t *testing.T) {
	for _, test := range []struct {
		bounds history.LimitBounds
		want   string
	}{
		{history.LimitBounds{Kind: history.DeviceLimit, Least: 100, Most: 100}, "Limit: the device was full at 100 bytes (100 bytes) of this process, as the record shows. --device-memory"},
		{history.LimitBounds{Kind: history.DeviceLimit, Least: 100, Most: 100, Moved: true}, "other processes' memory moved the bound"},
		{history.LimitBounds{Kind: history.DeviceLimit}, "Limit: none was reached."},
	} {
		c := &compare.Comparison{Workload: &history.Workload{Limit: test.bounds}, Readings: []history.Reading{{}}}
		if got := (Answer{c}).LimitNote(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test.bounds, got)
		}
	}
}

func TestExportedVariable(t *testing.T) {
	for _, test := range []struct {
		version snapshot.Version
		want    string
	}{
		{snapshot.Version{Least: 9, Most: 11}, "export PYTORCH_ALLOC_CONF=a:1"},
		{snapshot.Version{Least: 0, Most: 8}, "export PYTORCH_CUDA_ALLOC_CONF=a:1"},
		{snapshot.Version{Least: 8, Most: 9}, "export PYTORCH_ALLOC_CONF=a:1 PYTORCH_CUDA_ALLOC_CONF=a:1"},
	} {
		if got := exportFor(test.version, "a:1"); got != test.want {
			t.Errorf("%v: %s", test.version, got)
		}
	}
	if got := exportFor(snapshot.Version{Least: 9, Most: 11}, "a:[1]"); got != "export PYTORCH_ALLOC_CONF='a:[1]'" {
		t.Error(got)
	}
}

// TestReasons: the reason why settings help is that of what they change.
func TestReasons(t *testing.T) {
	for _, test := range []struct{ settings, want string }{
		{"expandable_segments:True", "expandable segments map memory page by page"},
		{"max_split_size_mb:64", "blocks of 64.00 MiB and more are not split"},
		{"roundup_power2_divisions:4", "rounded to fewer different sizes"},
		{"garbage_collection_threshold:0.6", "have not been used for long are freed"},
		{"large_segment_size_mb:32", "segments have another size"},
	} {
		if got := reason(&compare.Prediction{Settings: mustParse(t, test.settings)}, &compare.Prediction{}); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.settings, got)
		}
	}
}

// TestFragmentationText: what is free is enough for the request, by itself or with what a limit
// leaves. Of two possible limits the one is told under which that is so.
func TestFragmentationText(t *testing.T) {
	const free = "Cause: fragmentation. 40.00 MiB is reserved but free"
	for _, test := range []struct {
		requested, reserved uint64 // in MiB
		limits              []uint64
		want                string
	}{
		{40, 90, []uint64{100}, free + ", enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{30, 100, []uint64{100}, free + ", enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{100}, free + ", and a limit of 100.00 MiB leaves 15.00 MiB more: 55.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{90, 110}, free + ", and a limit of 110.00 MiB leaves 25.00 MiB more: 65.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
		{50, 85, []uint64{95, 110}, free + ", and a limit of 95.00 MiB leaves 10.00 MiB more: 50.00 MiB together, enough for the request in one piece; but no free block is larger than 25.00 MiB."},
	} {
		c := &compare.Comparison{Workload: &history.Workload{Settings: history.DefaultSettings(), Limit: history.LimitBounds{Kind: history.FractionLimit}}}
		for _, mib := range test.limits {
			c.Readings = append(c.Readings, history.Reading{Limits: history.Limits{Fraction: mib * spec.MiB}})
		}
		oom := &play.OutOfMemory{Requested: test.requested * spec.MiB, Reserved: test.reserved * spec.MiB, OwnFree: 40 * spec.MiB, LargestFreeBlock: 25 * spec.MiB}
		if got := (Answer{c}).fragmentation(oom); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestInconsistentEntries: how many entries contradict others is told, each counted once.
func TestInconsistentEntries(t *testing.T) {
	entry := func(a spec.Action, at spec.Ptr) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, Context: history.NoContext}
	}
	const segment, allocated, requested, completed = spec.ActionSegmentAlloc, spec.ActionAlloc, spec.ActionFreeRequested, spec.ActionFreeCompleted
	const at, elsewhere = spec.Ptr(2 * spec.MiB), spec.Ptr(64 * spec.MiB)
	for _, test := range []struct {
		what  string
		trace []snapshot.TraceEntry
		want  []string
	}{
		{"none", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, at), entry(completed, at)}, nil},
		{"a free of what was never allocated", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, elsewhere), entry(requested, at), entry(completed, at)},
			[]string{"1 entry of the history contradicts others"}},
		{"two free entries more than allocations", []snapshot.TraceEntry{entry(segment, at), entry(allocated, at), entry(requested, at), entry(completed, at), entry(requested, at), entry(completed, at)},
			[]string{"2 entries of the history contradict others"}},
	} {
		f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{test.trace}, Segments: []spec.Segment{{
			Address: at, TotalSize: 2 * spec.MiB, PoolKind: spec.LargePool, Blocks: []spec.Block{{Address: at, Size: 2 * spec.MiB, State: spec.Inactive}},
		}}}
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := Answer{&compare.Comparison{Workload: w}}
		if got := c.explain(compare.RecordMismatch, &compare.Prediction{}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.what, got)
		}
	}
}
