package tell_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// Public reports in which a conclusion was wrong, though every request was found: each of
// the files in the folder shared beside the project, with the right answer.

// report reads one of these files.
func report(t *testing.T, name string) *snapshot.File {
	t.Helper()
	f, err := snapshot.Open(filepath.Join("../../../shared/reports", name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the report %s is not here: it is in the folder shared beside the project", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// answer compares the usual settings as the record has the limit.
func answer(t *testing.T, f *snapshot.File, o compare.Options) *compare.Comparison {
	t.Helper()
	w, err := play.FromSnapshot(f, history.ChooseDevice(f))
	if err != nil {
		t.Fatal(err)
	}
	o.AsRecorded = o.Limit == 0 && o.DeviceMemory == 0
	c, err := compare.Compare(w, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(told(c)); err != nil {
		t.Fatal(err)
	}
	return c
}

// row is the prediction for settings.
func row(t *testing.T, c *compare.Comparison, settings string) *compare.Prediction {
	t.Helper()
	for i := range c.Predictions {
		if p := &c.Predictions[i]; p.Settings.Text == settings && p.Fraction == 0 {
			return p
		}
	}
	t.Fatalf("no row for %q", settings)
	return nil
}

func TestReportEmptyCacheBeforePeak(t *testing.T) {
	c := answer(t, report(t, "empty_cache_before_peak"), compare.Options{})
	now := row(t, c, "")
	if now.Retries != 0 || now.Exact() || c.Workload.Limit.Kind != history.UnknownLimit || c.Cause() != compare.NoCause {
		t.Errorf("%+v, limit %+v, cause %s", now, c.Workload.Limit, c.Cause())
	}
}

func TestReportGCNeedsFraction(t *testing.T) {
	c := answer(t, report(t, "gc_needs_fraction"), compare.Options{})
	if now := row(t, c, ""); now.Retries != 2 || now.PeakReserved != 600*spec.MiB {
		t.Errorf("now: %+v", now)
	}
	var object struct{ Limit struct{ Range [2]uint64 } }
	if text, err := json.Marshal(told(c)); err != nil || json.Unmarshal(text, &object) != nil || object.Limit.Range != [2]uint64{600 * spec.MiB, 750*spec.MiB - 1} {
		t.Errorf("limit %v, %v", object.Limit, err)
	}
	collecting := row(t, c, "garbage_collection_threshold:0.6")
	if r, _ := collecting.PeakReservedRange(); collecting.Exact() || r.Low > 600*spec.MiB || r.High < 600*spec.MiB {
		t.Errorf("garbage collection: %+v", collecting)
	}
	if p := c.Recommended(); strings.Contains(p.Settings.Text, "garbage") && p.Fraction == 0 {
		t.Errorf("recommended: %+v", p)
	}
	// On a device that is known to be full nothing is collected: as without the setting.
	c = answer(t, report(t, "gc_needs_fraction"), compare.Options{DeviceMemory: 610 * spec.MiB})
	if p := row(t, c, "garbage_collection_threshold:0.6"); !p.Exact() || p.Statistics != row(t, c, "").Statistics || p.Retries != 2 {
		t.Errorf("garbage collection without a fraction: %+v", p)
	}
}

func TestReportRetrySucceeds(t *testing.T) {
	c := answer(t, report(t, "retry_succeeds"), compare.Options{})
	if now := row(t, c, ""); now.OOMs != 1 || now.Retries != 1 || c.Workload.Limit.Kind != history.DeviceLimit {
		t.Errorf("%+v", now)
	}
	if c.Failing() == nil || c.Failing().Requested != 300*spec.MiB || !strings.Contains(told(c).Verdict(), "made again") {
		t.Error(told(c).Verdict())
	}
}

func TestReportNewerSettings(t *testing.T) {
	f := report(t, "newer_settings_key")
	c := answer(t, f, compare.Options{})
	if now := row(t, c, "large_segment_size_mb:64"); !now.Recorded || !now.Exact() || now.PeakReserved != 64*spec.MiB {
		t.Errorf("%+v", now)
	}
	if !slices.Equal(f.AllocatorSettings.Unknown, []string{"pinned_max_cached_size_mb:1024"}) {
		t.Error(f.AllocatorSettings.Unknown)
	}
}

func TestReportSkipActions(t *testing.T) {
	c := answer(t, report(t, "skip_free_requested"), compare.Options{})
	if now := row(t, c, ""); now.PeakReserved != 20*spec.MiB || now.Exact() || !strings.Contains(strings.Join(told(c).Differences(now), " "), "skip_actions") {
		t.Errorf("%+v", now)
	}
}

func TestReportUnknownAction(t *testing.T) {
	c := answer(t, report(t, "unknown_action"), compare.Options{})
	for i := range c.Predictions {
		if p := &c.Predictions[i]; p.Exact() || !strings.Contains(strings.Join(told(c).Differences(p), " "), "segment_import") {
			t.Errorf("%+v", p)
		}
	}
}

func TestReportCppFrames(t *testing.T) {
	c := answer(t, report(t, "cpp_frames"), compare.Options{})
	if v := told(c).Verdict(); !strings.Contains(v, "/home/user/train.py:1, train_step") || strings.Contains(v, "unwind") {
		t.Error(v)
	}
	if c.Cause() != compare.Shortage || c.Workload.Limit.Kind != history.DeviceLimit || told(c).Export() != "" {
		t.Errorf("cause %s, limit %+v, export %q", c.Cause(), c.Workload.Limit, told(c).Export())
	}
	if frames := c.Workload.Entry(&c.Workload.Requests[0]).Context.Frames; len(frames) != 5 {
		t.Errorf("%d frames are kept", len(frames))
	}
}

// TestReportsWithoutRequests: there is no table and no advice, but a reason.
func TestReportsWithoutRequests(t *testing.T) {
	for name, want := range map[string]string{
		"ring_of_one": "no request", "second_device_only": "device 1", "torch20_history": "no history of device 0",
	} {
		f := report(t, name)
		_, err := play.FromSnapshot(f, history.ChooseDevice(f))
		var none *history.WorkloadError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := report(t, "torch20_history")
	if frames, ok := f.Segments[0].Blocks[0].Context.(snapshot.Frames); !ok || frames[0].Filename != "app.py" || f.Version.Most != 0 {
		t.Errorf("the frames of the block are %v, the version %v", f.Segments[0].Blocks[0].Context, f.Version)
	}
}

// mallocs and frees make plans; sizes are in MiB.
func mallocs(mib ...uint64) []step {
	var steps []step
	for i, n := range mib {
		steps = append(steps, step{kind: mallocStep, size: n * spec.MiB, line: i + 1})
	}
	return steps
}

func frees(n int) []step { return slices.Repeat([]step{{kind: freeStep, line: 99}}, n) }

var empties = []step{{kind: emptyStep, line: 50}}

func mustPlay(t *testing.T, p *plan, settings string, l history.Limits) *played {
	t.Helper()
	result, err := p.play(settings, l)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestEmptyCacheByFrames: with call stacks it is known that empty_cache was called, whether
// they are those of the call (context="all") or of the allocation (context="alloc").
func TestEmptyCacheByFrames(t *testing.T) {
	for _, scale := range []uint64{1, 70} {
		steps := slices.Concat(mallocs(40*scale, 8*scale), frees(2), empties, mallocs(60*scale))
		for context, kind := range map[spec.ContextLevel]history.LimitKind{
			spec.ContextAll: history.NoLimit, spec.ContextAlloc: history.NoLimit, spec.ContextNever: history.UnknownLimit,
		} {
			p := &plan{steps: steps, context: context, onOOM: stops}
			recorded := mustPlay(t, p, "", history.Limits{})
			c := answer(t, recorded.file, compare.Options{})
			now := row(t, c, "")
			if c.Workload.Limit.Kind != kind || now.Statistics != recorded.atEnd || now.Exact() != (kind == history.NoLimit) {
				t.Errorf("context %v: limit %+v, %+v", context, c.Workload.Limit, now)
			}
		}
	}
}

// TestEmptyCacheByName: the name in the call stack is enough, of Python or C++, where the
// requests have no call stacks.
func TestEmptyCacheByName(t *testing.T) {
	f := mustPlay(t, &plan{steps: slices.Concat(mallocs(40, 8), frees(2), empties, mallocs(60)), onOOM: stops}, "", history.Limits{}).file
	for name, kind := range map[string]history.LimitKind{
		"empty_cache": history.NoLimit, "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::emptyCache(MempoolId_t)": history.NoLimit, "step": history.UnknownLimit,
	} {
		g := *f
		g.DeviceTraces = [][]snapshot.TraceEntry{slices.Clone(f.DeviceTraces[0])}
		for i := range g.DeviceTraces[0] {
			if e := &g.DeviceTraces[0][i]; e.Action == spec.ActionSegmentFree {
				e.Context = &snapshot.Context{Frames: snapshot.Frames{{Filename: "??", Name: name}, {Filename: "train.py", Line: 3, Name: "main"}}}
			}
		}
		if c := answer(t, &g, compare.Options{}); c.Workload.Limit.Kind != kind {
			t.Errorf("%s: %+v", name, c.Workload.Limit)
		}
	}
}

// TestLimitByFreeMemory: a request that the device had memory for was refused by a memory
// fraction, and one that it had too little for by the device.
func TestLimitByFreeMemory(t *testing.T) {
	f := mustPlay(t, &plan{steps: mallocs(40, 30), onOOM: stops}, "", history.Limits{}).file
	for free, kind := range map[uint64]history.LimitKind{60: history.FractionLimit, 58: history.DeviceLimit, 0: history.DeviceLimit, 600: history.FractionLimit} {
		if c := answer(t, oomEntries(f, 60, free), compare.Options{}); c.Workload.Limit.Kind != kind {
			t.Errorf("%d MiB free: %+v", free, c.Workload.Limit)
		}
	}
}

// TestOptionalRequests: a program asks for workspaces, and takes a smaller one if there is
// no memory. Its true peak is in the range, though it goes on after a failure that was
// never recorded.
func TestOptionalRequests(t *testing.T) {
	var steps []step
	for i := range uint64(8) {
		steps = slices.Concat(steps, mallocs(30+i, 200), []step{{kind: freeStep, which: int(i) + 1}})
	}
	p := &plan{steps: steps, onOOM: halves}
	recorded := mustPlay(t, p, "", history.Limits{})
	const limit = 390 * spec.MiB
	c := answer(t, recorded.file, compare.Options{Limit: limit, Settings: []string{"", "roundup_power2_divisions:4", "max_split_size_mb:32"}})
	for i := range c.Predictions {
		p0 := &c.Predictions[i]
		truth := mustPlay(t, p, p0.Settings.Text, history.Limits{Fraction: limit})
		if truth.atOOM == nil || *truth.atOOM == truth.atEnd {
			t.Fatalf("%q: the program does not go on after a failure", p0.Settings.Text)
		}
		if r, _ := p0.PeakReservedRange(); p0.Exact() || truth.atEnd.PeakReserved < r.Low || truth.atEnd.PeakReserved > r.High {
			t.Errorf("%q: %+v, and true is %+v", p0.Settings.Text, p0, truth.atEnd)
		}
	}
}

// TestRefusalByFrames: with call stacks it is known that a request was refused, and by
// which limit where it failed.
func TestRefusalByFrames(t *testing.T) {
	steps := slices.Concat(mallocs(40, 30), frees(2), mallocs(60))
	for _, limits := range []history.Limits{{Fraction: 90 * spec.MiB}, {Device: 90 * spec.MiB}} {
		p := &plan{steps: steps, context: spec.ContextAll, onOOM: stops}
		recorded := mustPlay(t, p, "", limits)
		c := answer(t, recorded.file, compare.Options{})
		now := row(t, c, "")
		if b := c.Workload.Limit; b.Kind != history.UnknownLimit || !b.Allows(90*spec.MiB) || !now.Exact() || now.Statistics != recorded.atEnd || now.Retries != 1 {
			t.Errorf("limit %+v, %+v, not %+v", b, now, recorded.atEnd)
		}
		p.steps = slices.Concat(steps, mallocs(80)) // and that fails
		c = answer(t, mustPlay(t, p, "", limits).file, compare.Options{})
		want := history.FractionLimit
		if limits.Device > 0 {
			want = history.DeviceLimit
		}
		if b := c.Workload.Limit; b.Kind != want || !b.Allows(90*spec.MiB) || c.Cause() != compare.Shortage {
			t.Errorf("limit %+v, cause %s", b, c.Cause())
		}
	}
}

// TestGarbageCollectionKeepsItsLimit: that garbage was collected tells that there was a
// memory fraction, and nearly which.
func TestGarbageCollectionKeepsItsLimit(t *testing.T) {
	var steps []step
	for i := range uint64(6) {
		steps = slices.Concat(steps, mallocs(100+10*i), frees(1))
	}
	p := &plan{steps: slices.Concat(mallocs(10), steps), onOOM: stops}
	const limit = 700 * spec.MiB
	recorded := mustPlay(t, p, "garbage_collection_threshold:0.6", history.Limits{Fraction: limit})
	c := answer(t, recorded.file, compare.Options{})
	if b := c.Workload.Limit; recorded.atEnd.DeviceFrees == 0 || b.Kind != history.FractionLimit || !b.Allows(limit) {
		t.Errorf("limit %+v, %+v", b, recorded.atEnd)
	}
	if now := row(t, c, "garbage_collection_threshold:0.6"); now.Statistics != recorded.atEnd {
		t.Errorf("%+v, not %+v", now, recorded.atEnd)
	}
}

// TestOtherProcess: the driver refuses what it granted before.
func TestOtherProcess(t *testing.T) {
	p := &plan{steps: slices.Concat(
		mallocs(200, 300, 400), frees(3), empties, []step{{kind: othersStep, size: 350 * spec.MiB}}, mallocs(200, 300)),
		context: spec.ContextAll, onOOM: stops}
	c := answer(t, mustPlay(t, p, "", history.Limits{}).file, compare.Options{})
	if c.Cause() != compare.OtherProcess || c.Workload.Limit.Kind != history.DeviceLimit || !c.Workload.Limit.Moved {
		t.Errorf("cause %s, limit %+v: %s", c.Cause(), c.Workload.Limit, told(c).Verdict())
	}
}

// TestSkipActions: frees are read from the entries that there are.
func TestSkipActions(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(30, 40), frees(1), mallocs(20), frees(2), mallocs(35)), onOOM: stops}
	recorded := mustPlay(t, p, "", history.Limits{})
	for _, skipped := range []spec.Action{spec.ActionFreeRequested, spec.ActionFreeCompleted} {
		f := *recorded.file
		f.DeviceTraces = [][]snapshot.TraceEntry{slices.DeleteFunc(slices.Clone(f.DeviceTraces[0]), func(e snapshot.TraceEntry) bool { return e.Action == skipped })}
		c := answer(t, &f, compare.Options{})
		if now := row(t, c, ""); now.Statistics != recorded.atEnd || now.Exact() {
			t.Errorf("without %v: %+v", skipped, now)
		}
		split := row(t, c, "max_split_size_mb:32")
		if truth := mustPlay(t, p, "max_split_size_mb:32", history.Limits{}).atEnd; split.Statistics != truth {
			t.Errorf("without %v: %+v, not %+v", skipped, split.Statistics, truth)
		}
	}
}

// TestFreesCutInTwo: a ring may begin between the two entries of a free. The memory did
// not wait for a stream.
func TestFreesCutInTwo(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(30, 40), frees(1), mallocs(20), frees(2), mallocs(35, 40), frees(1)), onOOM: stops}
	f := mustPlay(t, p, "", history.Limits{}).file
	for at := range f.DeviceTraces[0] {
		w, err := play.FromSnapshot(cut(f, at), 0)
		var none *history.WorkloadError
		if errors.As(err, &none) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if v := play.Verify(w); w.Unrecorded.PendingFrees > 0 || w.Unrecorded.InconsistentEntries > 0 || !v.Exact() {
			t.Errorf("from entry %d: %+v, %+v", at, w.Unrecorded, v.Differences)
		}
	}
}

// oomEntries appends a request that fails to a history, and perhaps what follows.
func oomEntries(f *snapshot.File, mib, free uint64, more ...snapshot.TraceEntry) *snapshot.File {
	g := *f
	oom := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionOOM, Size: mib * spec.MiB, Addr: spec.Ptr(free * spec.MiB)}, Context: &snapshot.Context{}}
	g.DeviceTraces = [][]snapshot.TraceEntry{append(append(slices.Clone(f.DeviceTraces[0]), oom), more...)}
	return &g
}

// TestPools: a request fails although there is a free block for it, or much is free in
// private pools.
func TestPools(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(600, 100), frees(1), mallocs(10)), onOOM: stops}
	c := answer(t, oomEntries(mustPlay(t, p, "", history.Limits{}).file, 300, 40), compare.Options{})
	now := row(t, c, "")
	if c.Cause() != compare.PoolCause || now.OOMs != 1 || !strings.Contains(told(c).Verdict(), "MemPool") || told(c).Export() != "" {
		t.Errorf("cause %s, %+v: %s", c.Cause(), now, told(c).Verdict())
	}

	f := *mustPlay(t, &plan{steps: slices.Concat(mallocs(600, 100, 20), frees(1)), onOOM: stops}, "", history.Limits{}).file
	f.Segments = slices.Clone(f.Segments)
	for i := range f.Segments {
		if f.Segments[i].TotalSize == 600*spec.MiB {
			f.Segments[i].Pool = spec.PoolID{Capture: 1}
		}
	}
	c = answer(t, oomEntries(&f, 300, 40), compare.Options{})
	if c.Cause() != compare.PoolCause || !strings.Contains(told(c).Verdict(), "private pools") {
		t.Errorf("cause %s: %s", c.Cause(), told(c).Verdict())
	}
}

// TestRetrySucceeds has the kind of retry_succeeds.json in other sizes and orders: the block
// that would have served the request became free while the request waited for streams.
func TestRetrySucceeds(t *testing.T) {
	for _, scale := range []uint64{1, 3, 10} {
		p := &plan{steps: slices.Concat(mallocs(60*scale), frees(1), mallocs(40*scale, 20*scale), frees(1)), onOOM: stops}
		f := mustPlay(t, p, "", history.Limits{}).file
		again := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Size: 30 * scale * spec.MiB, Addr: f.DeviceTraces[0][0].Addr}, Context: &snapshot.Context{}}
		f = oomEntries(f, 30*scale, 4*scale, again)
		s := &f.Segments[0]
		s.Blocks = []spec.Block{
			{Address: s.Address, Size: 30 * scale * spec.MiB, RequestedSize: 30 * scale * spec.MiB, State: spec.ActiveAllocated},
			{Address: s.Address + spec.Ptr(30*scale*spec.MiB), Size: 10 * scale * spec.MiB, State: spec.Inactive},
			s.Blocks[len(s.Blocks)-1],
		}
		s.AllocatedSize, s.ActiveSize = 50*scale*spec.MiB, 50*scale*spec.MiB
		c := answer(t, f, compare.Options{})
		if now := row(t, c, ""); now.OOMs != 1 || now.Retries != 1 || !now.Exact() || !strings.Contains(told(c).Verdict(), "made again") {
			t.Errorf("%d: %+v: %s", scale, now, told(c).Verdict())
		}
	}
}

// TestOtherDevices: the device is the one with the failure, or the history, or the memory.
func TestOtherDevices(t *testing.T) {
	f := *mustPlay(t, &plan{steps: mallocs(30, 40), onOOM: stops}, "", history.Limits{}).file
	trace := f.DeviceTraces[0]
	f.Segments = slices.Clone(f.Segments)
	for i := range f.Segments {
		f.Segments[i].Device = 3
	}
	for _, traces := range [][][]snapshot.TraceEntry{{nil, nil, nil, trace}, {nil}, nil} {
		f.DeviceTraces = traces
		if got := history.ChooseDevice(&f); got != 3 {
			t.Errorf("%d histories: device %d is chosen", len(traces), got)
		}
	}
	_, err := play.FromSnapshot(&snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{nil, trace}}, 0)
	if err == nil || !strings.Contains(err.Error(), "--device 1") {
		t.Error(err)
	}
}

// TestExportByVersion: the variable has the name that the version knows.
func TestExportByVersion(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(400), frees(1), mallocs(500), frees(1), mallocs(600), frees(1), mallocs(700)), onOOM: stops}
	f := *mustPlay(t, p, "", history.Limits{}).file
	for _, c := range []struct {
		version snapshot.Version
		want    string
		newest  int // the newest settings
	}{
		{snapshot.Version{Least: 10, Most: snapshot.Newest}, "export PYTORCH_ALLOC_CONF=expandable_segments:True", 11},
		{snapshot.Version{Least: 2, Most: 8}, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 1},
		{snapshot.Version{Least: 2, Most: snapshot.Newest}, "export PYTORCH_ALLOC_CONF=expandable_segments:True PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 11},
		{snapshot.Version{Most: 0}, "", 0},
	} {
		f.Version = c.version
		compared := answer(t, &f, compare.Options{})
		got := told(compared).Export()
		if got != c.want && c.newest > 0 || strings.Contains(got, "expandable") && c.newest < 1 {
			t.Errorf("%+v: %s", c.version, got)
		}
		for i := range compared.Predictions {
			if s := compared.Predictions[i].Settings.Text; strings.Contains(s, "large_segment_size") && c.newest < 11 {
				t.Errorf("%+v: %s is compared", c.version, s)
			}
		}
	}
}

// TestHair: a limit that is one byte too small is said in bytes.
func TestHair(t *testing.T) {
	p := &plan{steps: mallocs(656), onOOM: stops}
	c := answer(t, mustPlay(t, p, "", history.Limits{Fraction: 656*spec.MiB - 1}).file, compare.Options{Settings: []string{""}, Limit: 656*spec.MiB - 1})
	if v := told(c).Verdict(); !strings.Contains(v, "1 byte more than the limit") || !strings.Contains(v, "a limit of 656.00 MiB would suffice, 1 byte more") {
		t.Error(v)
	}
}

// TestNothingSaves: by how much, and what to look at.
func TestNothingSaves(t *testing.T) {
	p := &plan{steps: mallocs(400, 300, 200), context: spec.ContextAll, onOOM: stops}
	c := answer(t, mustPlay(t, p, "", history.Limits{Device: 800 * spec.MiB}).file, compare.Options{})
	if text := told(c).Verdict() + told(c).Details(); c.Cause() != compare.Shortage || !strings.Contains(text, "100.00 MiB more than the limit") || !strings.Contains(text, "400.00 MiB in 1 allocation by train.py:1, main") {
		t.Errorf("cause %s: %s", c.Cause(), text)
	}
}

// TestOneRowFails: that the requests cannot be repeated under some settings is said in
// their row, and the others are predicted.
func TestOneRowFails(t *testing.T) {
	c := answer(t, mustPlay(t, &plan{steps: mallocs(40, 50), onOOM: stops}, "", history.Limits{}).file, compare.Options{})
	p := &c.Predictions[1]
	p.Err = fmt.Errorf("a restore cannot be done")
	ranked := c.Ranked()
	if ranked[len(ranked)-1] != p || c.Recommended() == p || !strings.Contains(told(c).Table(tell.TableOptions{All: true}), "cannot be told") {
		t.Error(told(c).Table(tell.TableOptions{All: true}))
	}
}

// TestEmptyCacheFreesMore: a refused request frees oversize blocks first, and that is enough here;
// the history has all segments freed, so the program called empty_cache.
func TestEmptyCacheFreesMore(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(100, 70, 20), frees(3), []step{{kind: emptyStep}}, mallocs(130)), onOOM: stops}
	f := mustPlay(t, p, "max_split_size_mb:64", history.Limits{}).file
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	if v := play.Verify(w); w.Unrecorded.DoubtfulFrees != 0 || w.Limit.Kind != history.NoLimit || !v.Exact() {
		t.Errorf("%+v, limit %+v, %+v", w.Unrecorded, w.Limit, v.Differences)
	}
}
