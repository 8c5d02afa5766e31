package whatif

import (
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestReturns has short traces, and what they show of emptied caches and of the limit.
// Sizes are in MiB.
func TestReturns(t *testing.T) {
	const (
		obtained = spec.ActionSegmentAlloc
		returned = spec.ActionSegmentFree
		given    = spec.ActionAlloc
		refused  = spec.ActionOOM
		freed    = spec.ActionFreeCompleted
	)
	type entry struct {
		action spec.Action
		mib    uint64
		free   uint64 // on the device, of an oom entry
	}
	split, collecting := defaultConfig(), defaultConfig()
	split.MaxSplitSize = 64 * spec.MiB
	collecting.GarbageCollectionThreshold = 0.5
	for _, c := range []struct {
		what    string
		config  spec.Config
		trace   []entry
		emptied []int
		limit   LimitBounds // in MiB; Most is the first size that was refused
	}{
		{"nothing comes back", defaultConfig(), []entry{{obtained, 20, 0}, {given, 20, 0}}, nil, LimitBounds{20, 0}},
		{"at the end", defaultConfig(), []entry{{obtained, 20, 0}, {given, 20, 0}, {returned, 20, 0}}, []int{2}, LimitBounds{20, 0}},
		{"something else follows", defaultConfig(), []entry{{obtained, 20, 0}, {returned, 20, 0}, {given, 20, 0}}, []int{1}, LimitBounds{20, 0}},
		{"more than ever before follows", defaultConfig(), []entry{{obtained, 20, 0}, {returned, 20, 0}, {obtained, 30, 0}}, nil, LimitBounds{30, 50}},
		{"events are waited for first", defaultConfig(), []entry{{obtained, 20, 0}, {freed, 20, 0}, {returned, 20, 0}, {obtained, 30, 0}}, nil, LimitBounds{30, 50}},
		{"less than there was follows", defaultConfig(), []entry{{obtained, 90, 0}, {returned, 90, 0}, {obtained, 20, 0}, {returned, 20, 0}, {obtained, 30, 0}}, []int{3}, LimitBounds{90, 110}},
		{"as much as there was follows", defaultConfig(), []entry{{obtained, 50, 0}, {returned, 50, 0}, {given, 1, 0}, {obtained, 20, 0}, {returned, 20, 0}, {obtained, 30, 0}}, []int{1, 4}, LimitBounds{50, 0}},
		{"a failure follows", defaultConfig(), []entry{{obtained, 20, 0}, {returned, 20, 0}, {refused, 40, 900}}, nil, LimitBounds{20, 40}},
		{"the least that was refused counts", defaultConfig(), []entry{{obtained, 20, 0}, {refused, 40, 900}, {refused, 30, 900}, {refused, 50, 900}}, nil, LimitBounds{20, 50}},
		{"the device is full", defaultConfig(), []entry{{obtained, 20, 0}, {refused, 40, 10}}, nil, LimitBounds{30, 30}},
		{"oversize blocks are released", split, []entry{{obtained, 70, 0}, {obtained, 20, 0}, {returned, 70, 0}, {obtained, 80, 0}}, nil, LimitBounds{100, 170}},
		{"old segments are collected", collecting, []entry{{obtained, 20, 0}, {returned, 20, 0}, {obtained, 20, 0}}, nil, LimitBounds{20, 0}},
	} {
		var trace []snapshot.Entry
		for _, e := range c.trace {
			trace = append(trace, snapshot.Entry{TraceEntry: spec.TraceEntry{Action: e.action, Size: e.mib * spec.MiB, Addr: spec.Ptr(e.free * spec.MiB)}})
		}
		got := findReturns(trace, nil, c.config)
		var emptied []int
		for i := range trace {
			if got.emptied[i] {
				emptied = append(emptied, i)
			}
		}
		want := LimitBounds{c.limit.Least * spec.MiB, c.limit.Most * spec.MiB}
		if want.Refused() && !want.Known() {
			want.Most-- // the largest limit under which it is refused
		}
		if !slices.Equal(emptied, c.emptied) || got.limit != want {
			t.Errorf("%s: emptied before %v, not %v; the limit is in %v, not %v", c.what, emptied, c.emptied, got.limit, want)
		}
	}
}

func defaultConfig() spec.Config { return spec.DefaultConfig(spec.DefaultGeometry()) }
