package compare

import (
	"errors"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// TestOfDeviceMemory: settings of pinned host memory change nothing on the device.
func TestOfDeviceMemory(t *testing.T) {
	for setting, want := range map[string]bool{"pinned_use_background_threads": false, "pinned_": false, "max_split_size_mb": true, "unpinned_": true, "": true} {
		if got := ofDeviceMemory(setting); got != want {
			t.Errorf("%q: %v", setting, got)
		}
	}
}

// TestLowerBound: its peak is that of the rounded sizes of what is allocated at one time.
func TestLowerBound(t *testing.T) {
	l := &lowerBound{prediction: &Prediction{Settings: history.DefaultSettings()}, sizes: make([]uint64, 3)}
	l.allocate(0, 1000)
	l.allocate(1, 1)
	if l.now != 1536 || l.peak != 1536 {
		t.Errorf("now %d, peak %d", l.now, l.peak)
	}
	l.free(0)
	l.allocate(2, 512)
	if l.now != 1024 || l.peak != 1536 {
		t.Errorf("then now %d, peak %d", l.now, l.peak)
	}
	l.request(&history.Workload{Operations: []history.PoolOperation{{}, {Freed: []int32{1}}}}, &history.Request{Kind: history.Other, ID: 1})
	if l.now != 512 {
		t.Errorf("after a restore that freed a block now %d", l.now)
	}
}

// TestFractionIsFelt: a fraction is felt by settings that are compared with it, unless the record had the same limit.
func TestFractionIsFelt(t *testing.T) {
	limit := uint64(4 * spec.GiB)
	collects, err := history.ParseSettings("garbage_collection_threshold:0.8", upstream.Newest())
	expands, err2 := history.ParseSettings("expandable_segments:True", upstream.Newest())
	smallPages, err3 := history.ParseSettings("expandable_segments:True,large_segment_size_mb:20", upstream.Newest())
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	smallPages.Config.LargeSegmentSize = spec.DefaultGeometry().RoundLarge
	recorded := func(kind history.LimitKind, least, most, fraction uint64) history.Workload {
		return history.Workload{Limit: history.LimitBounds{Kind: kind, Least: least, Most: most, OfFraction: [2]uint64{fraction}}}
	}
	for name, c := range map[string]struct {
		workload history.Workload
		options  Options
		settings history.Settings
		want     felt
	}{
		"collected":        {options: Options{Limit: limit}, settings: collects, want: true},
		"no limit":         {settings: collects},
		"as recorded":      {options: Options{Limit: limit, AsRecorded: true}, settings: collects},
		"without settings": {options: Options{Limit: limit}, settings: history.DefaultSettings()},

		"the same fraction":          {recorded(history.FractionLimit, limit, limit, 0), Options{Limit: limit}, collects, false},
		"another fraction":           {recorded(history.FractionLimit, limit-1, limit-1, 0), Options{Limit: limit}, collects, true},
		"the least it may have been": {recorded(history.FractionLimit, limit, limit+1, 0), Options{Limit: limit}, collects, true},
		"a full device":              {recorded(history.DeviceLimit, limit, limit, 0), Options{Limit: limit}, collects, true},

		"expandable below it": {recorded(history.FractionLimit, 9*limit, 9*limit, limit+1), Options{Limit: limit}, expands, true},
		"expandable at it":    {recorded(history.FractionLimit, 9*limit, 9*limit, limit), Options{Limit: limit}, expands, false},
		"small pages":         {recorded(history.FractionLimit, 9*limit, 9*limit, limit+1), Options{Limit: limit}, smallPages, true},
		"fixed below it":      {recorded(history.FractionLimit, 9*limit, 9*limit, limit+1), Options{Limit: limit}, history.DefaultSettings(), false},
	} {
		if got := (&comparing{Comparison: Comparison{Workload: &c.workload}, options: c.options}).fractionIsFelt(c.settings); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPoolsMatter: what a record does not tell of private pools may matter only if there are some, and then if it does
// not tell all of them, or a run has to give memory back.
func TestPoolsMatter(t *testing.T) {
	collects, err := history.ParseSettings("garbage_collection_threshold:0.8", upstream.Newest())
	if err != nil {
		t.Fatal(err)
	}
	pools, start := []spec.PoolID{{User: 1}}, make([]spec.Segment, 1)
	reaches := func(noPools bool) runs {
		r := runResult{outcome: play.Outcome{Statistics: play.Statistics{Retries: 1}}}
		r.assumptions.NoPrivatePools = noPools
		return runs{r}
	}
	for name, c := range map[string]struct {
		workload history.Workload
		limit    uint64
		settings history.Settings
		results  runs
		want     bool
	}{
		"no pools":                 {history.Workload{InitialSegments: start}, spec.GiB, collects, reaches(false), false},
		"all is known":             {history.Workload{PrivatePools: pools}, 0, collects, make(runs, 1), false},
		"a limit":                  {history.Workload{PrivatePools: pools}, spec.GiB, history.DefaultSettings(), nil, false},
		"a start":                  {history.Workload{PrivatePools: pools, InitialSegments: start}, 0, collects, nil, true},
		"graph trees":              {history.Workload{PrivatePools: pools, Marks: history.Marks{GraphTrees: true}}, 0, collects, nil, true},
		"pools that are not known": {history.Workload{Unrecorded: history.Unrecorded{UnknownPools: 1}}, 0, collects, nil, true},
		"collected":                {history.Workload{PrivatePools: pools}, spec.GiB, collects, nil, true},
		"reached":                  {history.Workload{PrivatePools: pools}, 0, collects, reaches(false), true},
		"reached without pools":    {history.Workload{PrivatePools: pools}, 0, collects, reaches(true), false},
	} {
		comparing := &comparing{Comparison: Comparison{Workload: &c.workload, Limit: c.limit}}
		if got := comparing.poolsMatter(&Prediction{Settings: c.settings}, c.results); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStartBlocks: behind a block of the start may be a remainder that was not split off. It is known not to be if the
// next request was served from there before the block was freed.
func TestStartBlocks(t *testing.T) {
	const base, size = spec.Ptr(0x10000000), 2 * spec.MiB
	segment := spec.Segment{Address: base, TotalSize: 20 * spec.MiB, PoolKind: spec.LargePool, Blocks: []spec.Block{
		{Address: base, Size: size, State: spec.ActiveAllocated},
		{Address: base + spec.Ptr(size), Size: 18 * spec.MiB, State: spec.Inactive},
	}}
	small, last, expandable, little := segment, segment, segment, segment
	little.Blocks = []spec.Block{segment.Blocks[0], segment.Blocks[1]}
	little.Blocks[1].Size = 512 * spec.KiB
	small.PoolKind, expandable.Expandable = spec.SmallPool, true
	last.Blocks = last.Blocks[:1]
	free := history.Request{Kind: history.Free}
	other := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: base + spec.Ptr(8*spec.MiB)}}
	next := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: base + spec.Ptr(size)}}
	gone := next
	gone.Action = spec.ActionFreeCompleted
	full := segment
	full.Blocks = []spec.Block{segment.Blocks[0], segment.Blocks[1]}
	full.Blocks[1].State = spec.ActiveAllocated
	for name, c := range map[string]struct {
		segment spec.Segment
		freed   int // by which entry; -1: never
		trace   []snapshot.TraceEntry
		hidden  uint64
	}{
		"freed, and nothing there":  {segment, 0, []snapshot.TraceEntry{other, other}, spec.MiB},
		"freed, then served":        {segment, 0, []snapshot.TraceEntry{other, next}, spec.MiB},
		"served, then freed":        {segment, 1, []snapshot.TraceEntry{next, other}, 0},
		"served twice, then freed":  {segment, 2, []snapshot.TraceEntry{next, next, other}, 0},
		"freed there, then freed":   {segment, 1, []snapshot.TraceEntry{gone, other}, spec.MiB},
		"served before and after":   {segment, 1, []snapshot.TraceEntry{next, other, next}, 0},
		"freed, then served later":  {segment, 0, []snapshot.TraceEntry{other, other, next}, spec.MiB},
		"of which little is left":   {little, 0, []snapshot.TraceEntry{other}, 512 * spec.KiB},
		"never freed":               {segment, -1, []snapshot.TraceEntry{other, next}, 0},
		"of the small pool":         {small, 0, []snapshot.TraceEntry{other}, 0},
		"in an expandable segment":  {expandable, 0, []snapshot.TraceEntry{other}, 0},
		"at the end of its segment": {last, 0, []snapshot.TraceEntry{other}, 0},
	} {
		w := &history.Workload{Allocations: 2, Trace: c.trace, InitialSegments: []spec.Segment{c.segment}}
		if c.freed >= 0 {
			free.Entry = int32(c.freed)
			w.Requests = []history.Request{free}
		}
		list := (&comparing{Comparison: Comparison{Workload: w}}).startBlocks(&Prediction{Settings: history.DefaultSettings()})
		if len(list) != 1 || list[0].Size != size || list[0].hidden != c.hidden {
			t.Errorf("%s: %+v, want %d hidden", name, list, c.hidden)
		}
	}
	w := &history.Workload{Allocations: 2, InitialSegments: []spec.Segment{full}, Requests: []history.Request{{Kind: history.Free, Entry: 0}}, Trace: []snapshot.TraceEntry{other}}
	list := (&comparing{Comparison: Comparison{Workload: w}}).startBlocks(&Prediction{Settings: history.DefaultSettings()})
	if len(list) != 2 || list[0].hidden != 0 || list[1].Size != 18*spec.MiB {
		t.Errorf("two allocated blocks: %+v", list)
	}
}
