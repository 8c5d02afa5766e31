package play

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// TestBetterReplay: one that reproduces the whole record is better, else one that reproduces more
// of its entries. Of equals the first stays.
func TestBetterReplay(t *testing.T) {
	replay := func(entries int, differences ...Difference) *verifier {
		return &verifier{Verification: Verification{Entries: entries, Differences: differences}}
	}
	one := Difference{Kind: OtherEntry}
	for _, test := range []struct {
		a, b *verifier
		want bool
	}{
		{replay(5, one), replay(4, one), true}, {replay(4, one), replay(5, one), false}, {replay(5, one), replay(5, one), false},
		{replay(5), replay(6, one), true}, {replay(6, one), replay(5), false}, {replay(5), replay(5), false},
	} {
		if got := better(test.a, test.b); got != test.want {
			t.Errorf("%+v is better than %+v: %v", test.a.Verification, test.b.Verification, got)
		}
	}
}

// TestEntriesOfReplay: the entries of a replay are compared with those of the record up to the
// first difference.
func TestEntriesOfReplay(t *testing.T) {
	type entry = spec.TraceEntry
	segment := entry{Action: spec.ActionSegmentAlloc, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	freed := entry{Action: spec.ActionSegmentFree, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	unmapped := entry{Action: spec.ActionSegmentUnmap, Addr: 0x1000, Size: 20 * spec.MiB, Stream: 7}
	other := func(e entry, change func(*entry)) entry {
		change(&e)
		return e
	}
	failed := entry{Action: spec.ActionOOM, Addr: 100, Size: 30 * spec.MiB}
	took := entry{Action: spec.ActionSnapshot}
	requested := entry{Action: spec.ActionFreeRequested, Addr: 0x100, Size: 512}
	completed := func(at spec.Ptr) entry { return entry{Action: spec.ActionFreeCompleted, Addr: at, Size: 512} }
	for _, test := range []struct {
		what           string
		record, replay []entry
		skipped        []spec.Action
		initial        bool // the request frees what was allocated before the history
		entries        int
		direction      int
		want           DifferenceKind // the first difference
	}{
		{"equal", []entry{segment, freed}, []entry{segment, freed}, nil, false, 2, 0, ""},
		{"one more", []entry{segment}, []entry{segment, freed, segment}, nil, false, 1, 0, EntryAfterEnd},
		{"nothing was recorded", nil, []entry{segment}, nil, false, 0, 0, EntryAfterEnd},
		{"the record frees more", []entry{freed, segment}, []entry{segment, segment}, nil, false, 0, 1, OtherEntry},
		{"the record unmaps more", []entry{segment, unmapped}, []entry{segment, segment}, nil, false, 1, 1, OtherEntry},
		{"the replay frees more", []entry{segment, segment}, []entry{freed, segment}, nil, false, 0, -1, OtherEntry},
		{"each frees", []entry{unmapped}, []entry{freed}, nil, false, 0, 0, OtherEntry},
		{"another size", []entry{segment}, []entry{other(segment, func(e *entry) { e.Size = 22 * spec.MiB })}, nil, false, 0, 0, OtherEntry},
		{"another stream", []entry{segment}, []entry{other(segment, func(e *entry) { e.Stream = 8 })}, nil, false, 0, 0, OtherStream},
		{"another address", []entry{segment}, []entry{other(segment, func(e *entry) { e.Addr = 0x2000 })}, nil, false, 0, 0, OtherAddress},
		{"other free memory at an OOM", []entry{failed}, []entry{other(failed, func(e *entry) { e.Addr = 200 })}, nil, false, 1, 0, ""},
		{"snapshots", []entry{took, segment, took, freed}, []entry{segment, took, freed}, nil, false, 2, 0, ""},
		{"skipped actions", []entry{segment, freed}, []entry{segment, completed(0x100), freed}, []spec.Action{spec.ActionFreeCompleted}, false, 2, 0, ""},
		{"a free from before the history", []entry{segment, freed}, []entry{segment, requested, freed}, nil, true, 2, 0, ""},
		{"a free in the history", []entry{segment, freed}, []entry{segment, requested}, nil, false, 1, 1, OtherEntry},
		{"another size of a free", []entry{completed(0x100)}, []entry{other(completed(0x100), func(e *entry) { e.Size = 1024 })}, nil, false, 1, 0, ""},
		{"frees that complete in another order", []entry{completed(0x100), completed(0x200), segment}, []entry{completed(0x200), completed(0x100), segment}, nil, false, 3, 0, ""},
		{"a free that completes later", []entry{completed(0x100), segment, completed(0x200)}, []entry{completed(0x200), segment}, nil, false, 0, 0, OtherAddress},
	} {
		w := &history.Workload{Settings: history.DefaultSettings()}
		w.Unrecorded.Skipped = test.skipped
		for _, e := range test.record {
			w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: e})
		}
		v := &verifier{w: w, request: &history.Request{Kind: history.Free, Initial: test.initial}, completed: map[int]bool{}}
		for _, e := range test.replay {
			v.entry(spec.HistoryEntry{TraceEntry: e})
		}
		var got DifferenceKind
		if len(v.Differences) > 0 {
			got = v.Differences[0].Kind
		}
		if got != test.want || v.Entries != test.entries || v.direction != test.direction || v.stopped != (got != "") || len(v.Differences) > 1 {
			t.Errorf("%s: %q, %d entries are reproduced, direction %d", test.what, got, v.Entries, v.direction)
		}
	}
}

// TestAddressesOfExpandableSegments: in an expandable segment all blocks have one distance from
// their recorded addresses. It is a new one for each segment, and when nothing is active in it any
// more.
func TestAddressesOfExpandableSegments(t *testing.T) {
	const here, far = spec.Ptr(regionBytes), spec.Ptr(3 * regionBytes)
	w := &history.Workload{Settings: history.DefaultSettings()}
	w.Settings.Config.ExpandableSegments = true
	v := &verifier{w: w, stopped: true, offsets: map[expandableKey]spec.Ptr{}, live: map[expandableKey]int{}, keys: map[spec.Ptr]expandableKey{}, recorded: map[spec.Ptr]spec.Ptr{}}
	for _, step := range []struct {
		what         string
		recorded, at spec.Ptr
		bytes        uint64
		stream       spec.Stream
		pool         uint8
		same         bool
	}{
		{"the first", here, 0x1000, 512, 0, 0, true},
		{"the same distance", here + 512, 0x1200, 512, 0, 0, true},
		{"another distance", here + 1024, 0x1600, 512, 0, 0, false},
		{"a large one is in another segment", here + 1<<30, 0x200000, 20 * spec.MiB, 0, 0, true},
		{"of another stream", here + 2<<30, 0x300000, 512, 7, 0, true},
		{"of another pool", here + 3<<30, 0x400000, 512, 0, 1, true},
		{"in another region", far, 0x500000, 512, 0, 0, true},
		{"and another distance there", far + 512, 0x600000, 512, 0, 0, false},
	} {
		w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Addr: step.recorded}})
		v.request = &history.Request{Kind: history.Malloc, Bytes: step.bytes, Stream: step.stream, Pool: step.pool, Entry: int32(len(w.Trace) - 1)}
		before := v.SameAddress
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: step.at}})
		freed := v.sameAddress(&spec.TraceEntry{Action: spec.ActionFreeRequested, Addr: step.at}, step.recorded)
		if got := v.SameAddress > before; got != step.same || freed != step.same {
			t.Errorf("%s: it has the recorded address: %v, and when it is freed: %v", step.what, got, freed)
		}
	}
	for _, p := range []spec.Ptr{0x1000, 0x1200, 0x1600} {
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: p}})
		v.request.Bytes, v.request.Pool, v.request.Entry = 512, 0, 0
		before := v.SameAddress
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionAlloc, Addr: 0x9000 + p}})
		if got := v.SameAddress > before; got != (p == 0x1600) {
			t.Errorf("after the free of %v an allocation is where the first was: %v", p, got)
		}
		v.entry(spec.HistoryEntry{TraceEntry: spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: 0x9000 + p}})
	}
}

// TestCompletionsAtTheEnd: a completed free that is not in the record, which ends with others.
func TestCompletionsAtTheEnd(t *testing.T) {
	completed := spec.TraceEntry{Action: spec.ActionFreeCompleted, Addr: 0x200}
	v := &verifier{w: &history.Workload{Trace: []snapshot.TraceEntry{{TraceEntry: completed}}}, completed: map[int]bool{}}
	other := completed
	other.Addr = 0x400
	if at := v.nextEntry(&other); at != 0 || v.next != 1 {
		t.Errorf("entry %d is compared, the next is %d", at, v.next)
	}
}
