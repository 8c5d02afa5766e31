package tell_test

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// TestOneDifference changes one thing of a record that no allocator would have made: then
// no prediction is exact, and the rows say what differs.
func TestOneDifference(t *testing.T) {
	p := &plan{steps: slices.Concat(mallocs(40, 30, 8), frees(2), mallocs(60, 2), frees(1), mallocs(90)), context: spec.ContextAll, onOOM: stops}
	recorded := mustPlay(t, p, "", history.Limits{Fraction: 125 * spec.MiB})
	if c := answer(t, recorded.file, compare.Options{}); !c.Verification.Exact() || !row(t, c, "").Exact() || recorded.atEnd.OOMs != 1 || recorded.atEnd.DeviceFrees == 0 {
		t.Fatalf("%+v, %+v", c.Verification.Differences, recorded.atEnd)
	}
	entry := func(action spec.Action, change func(*snapshot.TraceEntry)) func(*snapshot.File) {
		return func(f *snapshot.File) {
			trace := slices.Clone(f.DeviceTraces[0])
			change(&trace[slices.IndexFunc(trace, func(e snapshot.TraceEntry) bool { return e.Action == action })])
			f.DeviceTraces = [][]snapshot.TraceEntry{trace}
		}
	}
	without := func(action spec.Action) func(*snapshot.File) {
		return func(f *snapshot.File) {
			trace := slices.Clone(f.DeviceTraces[0])
			i := slices.IndexFunc(trace, func(e snapshot.TraceEntry) bool { return e.Action == action })
			f.DeviceTraces = [][]snapshot.TraceEntry{slices.Delete(trace, i, i+1)}
		}
	}
	larger := func(e *snapshot.TraceEntry) { e.Size += 2 * spec.MiB }
	for what, change := range map[string]func(*snapshot.File){
		"the size of a segment":            entry(spec.ActionSegmentAlloc, larger),
		"an OOM for which there is memory": entry(spec.ActionOOM, func(e *snapshot.TraceEntry) { e.Size = 4 * spec.MiB }),
		"the address of an allocation":     entry(spec.ActionAlloc, func(e *snapshot.TraceEntry) { e.Addr += 512 }),
		"the stream of a segment":          entry(spec.ActionSegmentAlloc, func(e *snapshot.TraceEntry) { e.Stream = 7 }),
		"the address of a freed segment":   entry(spec.ActionSegmentFree, func(e *snapshot.TraceEntry) { e.Addr += 1 << 30 }),
		"a segment that was not freed":     without(spec.ActionSegmentFree),
		"a figure of a segment":            func(f *snapshot.File) { f.Segments[0].AllocatedSize += 512 },
		"the active figure of a segment":   func(f *snapshot.File) { f.Segments[0].ActiveSize += 512 },
		"the state of a block": func(f *snapshot.File) {
			f.Segments[0].Blocks = slices.Clone(f.Segments[0].Blocks)
			f.Segments[0].Blocks[0].State = spec.ActivePendingFree
		},
		"an entry too many": func(f *snapshot.File) {
			last := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionSegmentAlloc, Addr: 512, Size: 20 * spec.MiB}, Context: &snapshot.Context{}}
			f.DeviceTraces = [][]snapshot.TraceEntry{append(slices.Clone(f.DeviceTraces[0]), last)}
		},
		"the kind of a segment":       func(f *snapshot.File) { f.Segments[0].PoolKind = spec.SmallPool },
		"the stream of a segment now": func(f *snapshot.File) { f.Segments[0].Stream = 7 },
		"an action that is not known": func(f *snapshot.File) {
			f.UnknownActions = [][]snapshot.UnknownAction{{{Action: "segment_import", Entries: 1}}}
		},
		"a setting that is not known": func(f *snapshot.File) {
			f.AllocatorSettings = &snapshot.AllocatorSettings{Config: f.AllocatorSettings.Config, Unknown: []string{"page_size:1g"}}
		},
	} {
		f := *recorded.file
		f.Segments = slices.Clone(f.Segments)
		change(&f)
		c := answer(t, &f, compare.Options{Settings: []string{"", "expandable_segments:True"}})
		for i := range c.Predictions {
			if p := &c.Predictions[i]; p.Exact() || len(told(c).Differences(p)) == 0 {
				t.Errorf("%s: %q is exact", what, p.Settings.Text)
			}
		}
		unknown := len(f.UnknownActions[0]) > 0 || len(f.AllocatorSettings.Unknown) > 0 || what == "an OOM for which there is memory"
		if c.Verification.Exact() && !unknown {
			t.Errorf("%s: the record is reproduced", what)
		}
		if try := told(c).Brief().Try; c.Sureness() == compare.UnknownVerdict && c.Workload.Complete() && strings.Contains(try, "from the start") {
			t.Errorf("a record from the start is advised to be recorded from the start: %q", try)
		}
		if warned := strings.HasPrefix(told(c).Verdict(), "This cannot be relied on"); warned != (c.Sureness() == compare.UnknownVerdict) {
			t.Errorf("%s: the warning is not the first sentence: %s", what, told(c).Verdict())
		}
		if c.Sureness() == compare.ExactVerdict {
			t.Errorf("%s: the comparison is exact", what)
		}
	}
}
