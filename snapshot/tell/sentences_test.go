package tell

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Whole sentences of comparisons that records seldom lead to, in testdata/sentences.txt.

// sentences are lines, each with what it is of.
type sentences struct{ strings.Builder }

func (s *sentences) add(of string, said any) { fmt.Fprintf(s, "%s: %v\n", of, said) }

func TestKeptSentences(t *testing.T) {
	s := &sentences{}
	sentencesOfLimits(s)
	sentencesOfReasons(s)
	sentencesOfFailures(s)
	sentencesOfAdvice(t, s)
	sentencesOfPeaks(s)
	sentencesOfRecords(s)
	nothing, err := json.Marshal(NothingToCompare(3))
	s.add("nothing", fmt.Sprint(string(nothing), err))
	kept.Compare(t, "testdata/sentences.txt", s.String())
}

// sentencesOfLimits: every kind of a limit, given or recorded, known or between bounds.
func sentencesOfLimits(s *sentences) {
	const least, most = 700 * spec.MiB, 900 * spec.MiB
	type bounds = history.LimitBounds
	unrecorded := func(doubtful, refusals int) history.Unrecorded {
		return history.Unrecorded{DoubtfulFrees: doubtful, Refusals: refusals}
	}
	for _, test := range []struct {
		what   string
		bounds bounds
		left   history.Unrecorded
		more   func(*history.Workload)
	}{
		{"none", bounds{Kind: history.NoLimit}, history.Unrecorded{}, nil},
		{"fraction", bounds{Kind: history.FractionLimit, Least: least, Most: most}, unrecorded(0, 1), nil},
		{"known fraction", bounds{Kind: history.FractionLimit, Least: least, Most: least}, unrecorded(0, 1), nil},
		{"inferred fraction", bounds{Kind: history.FractionLimit, Least: least, Most: most, Inferred: true}, unrecorded(0, 1), nil},
		{"device", bounds{Kind: history.DeviceLimit, Least: least, Most: most}, unrecorded(0, 1), nil},
		{"known device", bounds{Kind: history.DeviceLimit, Least: least, Most: least}, unrecorded(0, 1), nil},
		{"moved device", bounds{Kind: history.DeviceLimit, Least: least, Most: most, Moved: true}, unrecorded(0, 1), nil},
		{"full device", bounds{Kind: history.DeviceLimit, Least: 1, Most: 1}, unrecorded(0, 1), nil},
		{"unknown", bounds{Kind: history.UnknownLimit, Least: least, Most: most}, unrecorded(0, 1), nil},
		{"one free", bounds{Kind: history.UnknownLimit, Least: least, Most: most}, unrecorded(1, 1), nil},
		{"some frees", bounds{Kind: history.UnknownLimit, Least: least, Most: most}, unrecorded(1, 2), nil},
		{"garbage", bounds{Kind: history.UnknownLimit, Least: least, Most: most}, unrecorded(0, 1), func(w *history.Workload) { w.DoubtfulGarbage = true }},
		{"open retries", bounds{Kind: history.FractionLimit, Least: least, Most: most}, unrecorded(0, 1), func(w *history.Workload) { w.RetriesOpen = true }},
		{"open retries and frees", bounds{Kind: history.FractionLimit, Least: least, Most: most}, unrecorded(1, 2), func(w *history.Workload) { w.RetriesOpen = true }},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Limit: test.bounds, Unrecorded: test.left}
		if test.more != nil {
			test.more(w)
		}
		all := []history.Limits{{}, {Device: 1}, {Fraction: 800 * spec.MiB}, {Device: 600 * spec.MiB}, {Fraction: 800 * spec.MiB, Device: 600 * spec.MiB}}
		if test.bounds.Kind != history.UnknownLimit { // what is given hides the rest
			all = all[:2]
		}
		for _, given := range all {
			c := Answer{&compare.Comparison{Workload: w, Readings: w.Readings()}}
			if given.Bytes() > 0 {
				c.Given, c.Readings = true, w.GivenReadings(given)
			}
			limit, err := json.Marshal(c.jsonLimit())
			s.add("limit "+test.what+fmt.Sprintf(" %v", given), fmt.Sprintf("%s|%s|%s|%s|%s %v", c.LimitNote(), c.under(), c.briefLimit(), c.limitNotTold(), limit, err))
		}
	}
}

// sentencesOfReasons: why predictions are not exact, and what a replay does not reproduce.
func sentencesOfReasons(s *sentences) {
	w := &history.Workload{Settings: history.DefaultSettings(), InitialSegments: []spec.Segment{{AllocatedSize: 512}}, OtherReleases: upstream.Releases()[:2]}
	w.Limit = history.LimitBounds{Kind: history.FractionLimit, Least: spec.MiB, Most: spec.GiB}
	w.Unrecorded = history.Unrecorded{
		PendingFrees: 2, OOMs: 1, Skipped: []spec.Action{spec.ActionFreeRequested, spec.ActionSnapshot}, InconsistentEntries: 1,
		Unknown: []snapshot.UnknownAction{{Action: "segment_import", Entries: 1}, {Action: "a\nb", Entries: 2}}, UnknownSettings: []string{"page_size:1g"},
	}
	segment := &spec.Segment{PoolKind: spec.LargePool, TotalSize: 100, AllocatedSize: 11, ActiveSize: 12, Blocks: []spec.Block{
		{Size: 10, State: spec.ActiveAllocated}, {Size: 20, State: spec.ActivePendingFree}, {Size: 70, State: spec.Inactive},
	}}
	other := &spec.Segment{PoolKind: spec.SmallPool, TotalSize: 50, Blocks: []spec.Block{{Size: 50, State: spec.Inactive}}}
	recorded, replayed := spec.TraceEntry{Action: spec.ActionAlloc, Size: 512}, spec.TraceEntry{Action: spec.ActionSegmentAlloc, Size: spec.MiB}
	c := Answer{&compare.Comparison{Workload: w}}
	for _, kind := range []play.DifferenceKind{play.NotRepeated, play.EntryAfterEnd, play.OtherEntry, play.OtherStream, play.OtherAddress, play.EntriesMissing, play.SegmentNumber, play.OtherSegment, play.SegmentFigures} {
		c.Verification.Differences = append(c.Verification.Differences, play.Difference{Kind: kind, Entry: 7, Count: 3, Recorded: recorded, Replayed: replayed,
			Segments: [2]*spec.Segment{segment, other}, Numbers: [2]int{4, 5}, Err: errors.New("wrong")})
	}
	for _, reason := range []compare.InexactReason{
		compare.DriverAddresses, compare.StreamTiming, compare.PoolMembership, compare.MissingStart, compare.StartBlocks, compare.FailedRequests, compare.OptionalRequests, compare.LimitNotTold,
		compare.EmptyCacheCalls, compare.ChangedSettings, compare.UnknownRecord, compare.ReleaseNotTold, compare.Collectives, compare.SkippedActions, compare.RecordMismatch, compare.RunFailed,
	} {
		s.add("reason "+string(reason), strings.Join(c.explain(reason, &compare.Prediction{Err: errors.New("wrong")}), "; "))
	}
	for _, settings := range []string{"expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4", "garbage_collection_threshold:0.6", "large_segment_size_mb:32"} {
		parsed, err := history.ParseSettings(settings, upstream.Newest())
		p := &compare.Prediction{Settings: parsed}
		s.add("reason for "+settings, fmt.Sprint(reason(p, &compare.Prediction{}), reason(p, nil), err))
	}
}

// sentencesOfFailures: a request that fails, by cause, with all that is known of it.
func sentencesOfFailures(s *sentences) {
	const limit = 100 * spec.MiB
	type oom = play.OutOfMemory
	for _, test := range []struct {
		what    string
		oom     oom
		peak    uint64 // requested at one time
		kind    history.LimitKind
		pool    int
		moved   bool
		differs bool
	}{
		{what: "fragmentation", oom: oom{Requested: 30 * spec.MiB, Reserved: limit, Allocated: 60 * spec.MiB, OwnFree: 40 * spec.MiB, LargestFreeBlock: 25 * spec.MiB}},
		{what: "fragmentation with room", oom: oom{Requested: 50 * spec.MiB, Reserved: 85 * spec.MiB, Allocated: 45 * spec.MiB, OwnFree: 40 * spec.MiB, LargestFreeBlock: 25 * spec.MiB}},
		{what: "fragmentation of a pool", oom: oom{Requested: 30 * spec.MiB, Reserved: limit, Allocated: 60 * spec.MiB, OwnFree: 40 * spec.MiB, LargestFreeBlock: 25 * spec.MiB, InPool: true}},
		{what: "shortage", oom: oom{Requested: 30 * spec.MiB, Reserved: 90 * spec.MiB, Allocated: 90 * spec.MiB}},
		{what: "shortage at the peak", oom: oom{Requested: 30 * spec.MiB, Reserved: 90 * spec.MiB, Allocated: 90 * spec.MiB}, peak: limit + 1},
		{what: "pending memory", oom: oom{Requested: 20 * spec.MiB, Reserved: 90 * spec.MiB, Allocated: 50 * spec.MiB, OwnFree: 20 * spec.MiB, PrivateFree: 5 * spec.MiB, LargestFreeBlock: 20 * spec.MiB}},
		{what: "pools", oom: oom{Requested: 30 * spec.MiB, Reserved: limit, Allocated: 60 * spec.MiB, OwnFree: 10 * spec.MiB, PrivateFree: 30 * spec.MiB, LargestFreeBlock: 10 * spec.MiB}},
		{what: "of a pool", oom: oom{Requested: 30 * spec.MiB, Reserved: limit, Allocated: 60 * spec.MiB, OwnFree: 0, PrivateFree: 40 * spec.MiB, InPool: true}, pool: 1},
		{what: "full device", oom: oom{Requested: 30 * spec.MiB}, kind: history.DeviceLimit},
		{what: "other process", oom: oom{Requested: 30 * spec.MiB, Reserved: 90 * spec.MiB, Allocated: 90 * spec.MiB}, kind: history.UnknownLimit, moved: true},
		{what: "not reproduced", oom: oom{Requested: 5 * spec.MiB, Reserved: limit, Allocated: 60 * spec.MiB}, differs: true},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Mallocs: 2, Allocations: 2, DeviceMemory: 200 * spec.MiB}
		w.Requests = []history.Request{{Kind: history.Malloc, Bytes: max(test.peak, spec.MiB)}, {Kind: history.FailedMalloc, ID: 1, Entry: 1, Bytes: test.oom.Requested}}
		site := &snapshot.Context{Frames: snapshot.Frames{{Filename: "/home/train.py", Line: 4, Name: "main"}}}
		w.Trace = []snapshot.TraceEntry{
			{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc}, Context: site},
			{TraceEntry: spec.TraceEntry{Action: spec.ActionOOM, Addr: 120 << 20, Size: test.oom.Requested}, Context: site},
		}
		w.Limit = history.LimitBounds{Kind: history.FractionLimit, Least: limit, Most: limit, Moved: test.moved}
		switch {
		case test.kind == history.DeviceLimit:
			w.Limit = history.LimitBounds{Kind: test.kind, Least: 1, Most: 1}
		case test.kind != "":
			w.Limit.Kind, w.Limit.Most = test.kind, limit+60*spec.MiB
		}
		w.Unrecorded.OOMs, w.Unrecorded.PoolFailures = 1, test.pool
		failed := test.oom
		failed.Request, failed.Number = 1, 2
		p := compare.Prediction{Settings: w.Settings, Recorded: true, Asked: true}
		p.FirstOOM, p.OOMs, p.AtEnd.OOMs, p.PeakReserved = &failed, 2, 3, limit
		p.Runs = []compare.CountedRun{{Outcome: p.Outcome}}
		c := Answer{&compare.Comparison{Workload: w, Readings: w.Readings(), Predictions: []compare.Prediction{p}}}
		if test.differs {
			c.Verification.Differences = []play.Difference{{Kind: play.SegmentNumber}}
		}
		written, err := json.Marshal(c)
		s.add("failure "+test.what, fmt.Sprintf("%s|%s|%+v|%s %v", c.Verdict(), c.Details(), c.Brief(), written, err))
		c.NeededLimit = limit + 8*spec.MiB
		s.add("failure "+test.what+" and a limit", c.do()+"|"+c.briefTry())
	}
}

// sentencesOfAdvice: settings that are advised because nothing fails with them, or that cannot be
// predicted. How much they reserve follows from runs, of which there are none here.
func sentencesOfAdvice(t *testing.T, s *sentences) {
	long := strings.Repeat("max_split_size_mb:64,", 5)
	for _, test := range []struct {
		settings string
		fraction uint64
		capacity uint64
		err      error
	}{
		{"max_split_size_mb:64", 0, 0, nil},
		{"garbage_collection_threshold:0.6", 600 * spec.MiB, 0, nil},
		{"garbage_collection_threshold:0.6", 600 * spec.MiB, spec.GiB, nil},
		{strings.TrimSuffix(long, ","), 600 * spec.MiB, spec.GiB, nil},
		{strings.TrimSuffix(long, ","), 0, 0, nil},
		{"large_segment_size_mb:32", 0, 0, nil},
		{"max_split_size_mb:64", 0, 0, errors.New("wrong")},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Limit: history.LimitBounds{Kind: history.NoLimit}, Allocations: 1, Mallocs: 1, DeviceMemory: test.capacity, Device: 2, Version: snapshot.Version{Least: 8, Most: 8}}
		w.Requests = []history.Request{{Kind: history.Malloc, Bytes: 100 * spec.MiB}}
		w.Trace = []snapshot.TraceEntry{{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc}, Context: history.NoContext}}
		prediction := func(settings history.Settings, reserved uint64) compare.Prediction {
			p := compare.Prediction{Settings: settings, Asked: true, Err: test.err}
			p.PeakReserved, p.PeakAllocated, p.Retries = reserved, 100*spec.MiB, 2
			p.Runs = []compare.CountedRun{{Outcome: p.Outcome}}
			return p
		}
		now, better := prediction(w.Settings, spec.GiB), prediction(mustParse(t, test.settings), 300*spec.MiB)
		now.FirstOOM = &play.OutOfMemory{Number: 1, Requested: 100 * spec.MiB}
		now.Runs = []compare.CountedRun{{Outcome: now.Outcome}}
		better.Fraction = test.fraction
		c := Answer{&compare.Comparison{Workload: w, Readings: w.Readings(), Predictions: []compare.Prediction{now, better}}}
		written, err := json.Marshal(c)
		s.add("advice "+test.settings, fmt.Sprintf("%s|%s|%s|%+v|%s|%s|%s %v", c.Verdict(), c.Details(), c.HowSure(), c.Brief(), c.settingsInBrief(&better), c.Table(TableOptions{}), written, err))
	}
}

// sentencesOfPeaks: where nothing fails, the peak and what holds most of it.
func sentencesOfPeaks(s *sentences) {
	site := func(line int) *snapshot.Context {
		return &snapshot.Context{Frames: snapshot.Frames{{Filename: "/home/train.py", Line: line, Name: "main"}}}
	}
	start := []spec.Segment{{TotalSize: 2 * spec.MiB, AllocatedSize: spec.MiB, Blocks: []spec.Block{{Size: spec.MiB, RequestedSize: spec.MiB, State: spec.ActiveAllocated}, {Size: spec.MiB}}}}
	for _, test := range []struct {
		what     string
		start    []spec.Segment
		requests []uint64 // their sizes
		contexts []*snapshot.Context
		retries  int64
	}{
		{"nothing", nil, nil, nil, 0},
		{"only the start", start, nil, nil, 0},
		{"the start and more", start, []uint64{512}, []*snapshot.Context{history.NoContext}, 1},
		{"the first request", nil, []uint64{4096}, []*snapshot.Context{history.NoContext}, 2},
		{"two of a size", nil, []uint64{4096, 4096, 512}, []*snapshot.Context{history.NoContext, history.NoContext, history.NoContext}, 0},
		{"a line that holds most", nil, []uint64{4096, 512}, []*snapshot.Context{site(4), site(5)}, 0},
		{"its own line", nil, []uint64{512, 4096}, []*snapshot.Context{site(4), site(5)}, 0},
		{"a line that holds half", nil, []uint64{4096, 4096}, []*snapshot.Context{site(4), site(5)}, 0},
	} {
		w := &history.Workload{Settings: history.DefaultSettings(), Limit: history.LimitBounds{Kind: history.NoLimit}, InitialSegments: test.start, Mallocs: len(test.requests), Allocations: len(test.requests) + len(test.start)}
		p := compare.Prediction{Settings: w.Settings, Asked: true}
		for i, bytes := range test.requests {
			w.Requests = append(w.Requests, history.Request{Kind: history.Malloc, ID: int32(len(test.start) + i), Entry: int32(i), Bytes: bytes})
			w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc}, Context: test.contexts[i]})
			p.PeakAllocated += bytes
		}
		p.PeakReserved, p.Retries = 2*p.PeakAllocated, test.retries
		p.Runs = []compare.CountedRun{{Outcome: p.Outcome}}
		c := Answer{&compare.Comparison{Workload: w, Readings: w.Readings(), Predictions: []compare.Prediction{p}}}
		s.add("peak "+test.what, fmt.Sprintf("%s|%s|%+v", c.Verdict(), c.Details(), c.Brief()))
	}
}

// sentencesOfRecords: of what record, by whose rules, and who holds memory in it.
func sentencesOfRecords(s *sentences) {
	start := []spec.Segment{{TotalSize: 20 * spec.MiB, AllocatedSize: 5 * spec.MiB}}
	for _, w := range []*history.Workload{
		{}, {Mallocs: 1, Device: 1, DurationUS: 999_949}, {Mallocs: 7, DurationUS: 1_000_000, NoEnd: true}, {Mallocs: 2, InitialSegments: start},
		{Version: snapshot.Version{Least: 8, Most: 8}}, {Version: snapshot.Version{Least: 8, Most: 9}}, {Version: snapshot.Version{Most: 9}}, {Version: snapshot.Version{Least: 9, Most: snapshot.Newest}}, {Version: snapshot.Version{Most: snapshot.Newest}},
		{Marks: history.Marks{Backend: "ROCm"}, OtherReleases: upstream.Releases()[:2]},
	} {
		w.Release = upstream.Newest()
		same := Answer{&compare.Comparison{Workload: w}}
		differs := Answer{&compare.Comparison{Workload: w, Predictions: []compare.Prediction{{Reasons: []compare.InexactReason{compare.ReleaseNotTold}}}}}
		s.add("record", Summary(w)+"|"+same.ReleaseNote()+"|"+differs.ReleaseNote())
	}
	entry := &snapshot.TraceEntry{Context: &snapshot.Context{Frames: snapshot.Frames{{Filename: `C:\a\train.py`, Line: 4, Name: "main"}}}}
	for _, h := range []compare.Holder{{Start: true, Bytes: 1024, Count: 2}, {Entry: entry, Bytes: 1024, Count: 2}, {Bytes: 1024, Count: 1}, {Bytes: 1024, Count: 2}} {
		s.add("holder", holderInWords(&h)+"|"+holderInBrief(&h))
	}
	block := func(bytes uint64, state spec.BlockState) spec.Block { return spec.Block{Size: bytes, State: state} }
	f := &snapshot.File{Segments: []spec.Segment{
		{Device: 1, TotalSize: 10, Blocks: []spec.Block{block(10, spec.ActiveAllocated)}},
		{Device: 2, TotalSize: 100, Blocks: []spec.Block{block(30, spec.Inactive), block(20, spec.ActivePendingFree), block(10, spec.Inactive), block(40, spec.ActiveAllocated)}},
		{Device: 2, TotalSize: 50, Pool: spec.PoolID{User: 1}, Blocks: []spec.Block{block(25, spec.Inactive), block(25, spec.Inactive)}},
		{Device: 3, TotalSize: 7, Stream: 1, Blocks: []spec.Block{block(7, spec.Inactive)}}, {Device: 3, TotalSize: 8, Stream: 2, Blocks: []spec.Block{block(8, spec.Inactive)}},
	}}
	for device := range spec.Device(4) {
		s.add("state", State(f, device))
	}
	for _, n := range []int{0, 1, 2} {
		s.add("number", fmt.Sprint(counted(n, "entry"), counted(n, "free"), times(int64(n))))
	}
}
