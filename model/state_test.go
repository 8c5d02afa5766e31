package model_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// sequence is a run in which every action changes something.
var sequence = []struct {
	name string
	do   func(s model.State) model.State
}{
	{"limit", func(s model.State) model.State { s, _ = s.SetMemoryFraction(0.5); return s }},
	{"malloc", func(s model.State) model.State { return malloc(s, 5*mib, 0x1000000) }},
	{"split", func(s model.State) model.State { return malloc(s, 5*mib, 0) }},
	{"record_stream", func(s model.State) model.State { s, _ = s.RecordStream(0x1000000, side); return s }},
	{"busy", func(s model.State) model.State { return s.Busy(side) }},
	{"free, pending", func(s model.State) model.State { s, _ = s.Free(0x1000000); return s }},
	{"free, merged", func(s model.State) model.State { s, _ = s.Free(0x1500000); return s }},
	{"pending malloc", func(s model.State) model.State {
		s, _, _ = s.MallocSearch(1, 0, 20*mib, model.DriverResults{})
		return s
	}},
	{"granted", func(s model.State) model.State {
		s, _, _ = s.MallocResume(1, model.DriverResults{Segment: 0x3000000})
		return s
	}},
	{"registered", func(s model.State) model.State { s, _, _ = s.MallocResume(1, model.DriverResults{}); return s }},
	{"drain", func(s model.State) model.State { return s.Drain(side) }},
	{"configure", func(s model.State) model.State { s, _ = s.Configure("max_split_size_mb:20"); return s }},
	{"empty_cache", model.State.EmptyCache},
}

var side = spec.DeviceStream{Stream: 7}

func malloc(s model.State, bytes uint64, base spec.Ptr) model.State {
	s, r := s.Malloc(0, bytes, model.DriverResults{Segment: base})
	if r.Err != nil {
		panic(r.Err)
	}
	return s
}

// TestActionsLeaveStatesAlone: an action does not change the states before it, and Equal
// tells all of them apart.
func TestActionsLeaveStatesAlone(t *testing.T) {
	states := []model.State{newState("release_lock_on_cudamalloc:True,garbage_collection_threshold:0.5")}
	printed := []string{fmt.Sprintf("%#v", states[0])}
	for _, step := range sequence {
		next := step.do(states[len(states)-1])
		states = append(states, next)
		printed = append(printed, fmt.Sprintf("%#v", next))
	}
	for i := range states {
		if now := fmt.Sprintf("%#v", states[i]); now != printed[i] {
			t.Errorf("state %d was\n%s\nand is\n%s", i, printed[i], now)
		}
		for j := range states {
			if states[i].Equal(states[j]) != (i == j) {
				t.Errorf("Equal confuses the states %d and %d", i, j)
			}
		}
	}
}

// TestAddresses: the address of a new segment must overlap no other.
func TestAddresses(t *testing.T) {
	s := newState("release_lock_on_cudamalloc:True")
	s, _, _ = s.MallocSearch(1, 0, 20*mib, model.DriverResults{})
	s, _, _ = s.MallocResume(1, model.DriverResults{Segment: 0x3000000}) // granted, not registered
	s = malloc(s, 20*mib, 0x1000000)
	for _, c := range []struct {
		base    spec.Ptr
		invalid bool
	}{
		{0, true}, {0x5000001, true}, // no addresses
		{0x1000000, true}, {0x1000000 + 2*mib, true}, {0x1000000 - 2*mib, true}, {0x1000000 + 20*mib, true}, // the last reaches the granted one
		{0x3000000, true}, {0x3000000 + 20*mib - 512, true},
		{0x3000000 + 20*mib, false},
	} {
		_, r := s.Malloc(0, 30*mib, model.DriverResults{Segment: c.base})
		var invalid *model.AddressError
		if errors.As(r.Err, &invalid) != c.invalid {
			t.Errorf("%v: %v", c.base, r.Err)
		}
	}
}

// TestRestoreNeedsTheMemory: a restore fails, and changes nothing, if saved memory was
// released. That takes a pool that was removed and created again.
func TestRestoreNeedsTheMemory(t *testing.T) {
	pool := spec.PoolID{User: 1}
	s, _ := newState("").BeginAllocateToPool(pool, 0)
	s = malloc(s, 5*mib, 0x1000000)
	s, _ = s.Checkpoint(pool)
	s, _ = s.Free(0x1000000)
	s, _ = s.EndAllocateToPool(pool)
	restored, r := s.SetCheckpointPoolState(pool)
	if r.Err != nil || len(restored.Segments) != 1 {
		t.Fatalf("with the memory: %v\n%v", r.Err, restored)
	}
	s, _ = s.ReleasePool(pool)
	s, _ = s.EmptyCache().BeginAllocateToPool(pool, 0)
	var stateError *spec.InvalidStateError
	after, r := s.SetCheckpointPoolState(pool)
	if !errors.As(r.Err, &stateError) || !after.Equal(s) {
		t.Errorf("without the memory: %v\n%v", r.Err, after)
	}
}

// TestSearchAfterCallbacks: a malloc searches again when a free-memory callback has freed
// something, and only then.
func TestSearchAfterCallbacks(t *testing.T) {
	for _, freed := range []bool{true, false} {
		s := model.New(0, spec.GiB, spec.DefaultConfig(spec.DefaultGeometry()), spec.DefaultGeometry(), upstream.Rules{})
		s.FreeMemoryCallbacks = true
		s = malloc(s, 20*mib, 0x1000000)
		s, _, isDone := s.MallocSearch(1, 0, 20*mib, model.DriverResults{})
		if isDone {
			t.Fatal("the malloc did not call the callbacks")
		}
		s, _ = s.Free(0x1000000)
		s, r, _ := s.MallocResume(1, model.DriverResults{CallbackFreed: freed, Segment: 0x8000000})
		want, segments := spec.Ptr(0x1000000), int64(1)
		if !freed {
			want, segments = 0x8000000, 2
		}
		if r.Ptr != want || s.Counters.NumDeviceAlloc != segments {
			t.Errorf("freed %v: %v, and %d segments were obtained", freed, r.Ptr, s.Counters.NumDeviceAlloc)
		}
	}
}

// TestStreamUsesAreSorted: in whatever order uses are recorded, the states are equal.
func TestStreamUsesAreSorted(t *testing.T) {
	record := func(streams ...spec.Stream) model.State {
		s := malloc(newState(""), 5*mib, 0x1000000)
		for _, stream := range streams {
			s, _ = s.RecordStream(0x1000000, spec.DeviceStream{Stream: stream})
		}
		return s
	}
	if a, b := record(7, 9, 8), record(9, 8, 7, 8); !a.Equal(b) {
		t.Errorf("the order of record_stream makes a difference:\n%v\n%v", a, b)
	}
}

// TestPendingMallocsAreSorted: in whatever order mallocs begin, the states are equal.
func TestPendingMallocsAreSorted(t *testing.T) {
	begin := func(ids ...int) model.State {
		s := newState("release_lock_on_cudamalloc:True")
		for _, id := range ids {
			s, _, _ = s.MallocSearch(id, 0, 20*mib, model.DriverResults{})
		}
		if len(s.PendingMallocs) != len(ids) {
			t.Fatalf("the mallocs do not wait for the driver:\n%v", s)
		}
		return s
	}
	if a, b := begin(1, 2, 3), begin(3, 1, 2); !a.Equal(b) {
		t.Errorf("the order of mallocs makes a difference:\n%v\n%v", a, b)
	}
}

// TestPoolsThatAreUsed: a pool that is used can be created again, which adds a use, and is not
// emptied; a freeable one cannot, and is. A pool that is not there has nothing to empty.
func TestPoolsThatAreUsed(t *testing.T) {
	pool := spec.PoolID{User: 1}
	s, r := newState("").CreatePool(pool, false, false)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if again, r := s.CreatePool(pool, false, false); r.Err != nil || again.Equal(s) {
		t.Errorf("a second use: %v", r.Err)
	}
	if !s.EmptyPool(pool).Equal(s) || !s.EmptyPool(spec.PoolID{User: 2}).Equal(s) {
		t.Error("a pool was emptied that is used, or not there")
	}
	s, r = s.ReleasePool(pool)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var misuse *spec.InvalidStateError
	if _, r := s.CreatePool(pool, false, false); !errors.As(r.Err, &misuse) {
		t.Errorf("creating a freeable pool: %v", r.Err)
	}
	if s.EmptyPool(pool).Equal(s) {
		t.Error("a freeable pool was not emptied")
	}
}

// TestReleaseDefaultPoolLeavesStateAlone: it waits for the events, in a state of its own.
func TestReleaseDefaultPoolLeavesStateAlone(t *testing.T) {
	s := malloc(newState(""), 5*mib, 0x1000000)
	s, _ = s.RecordStream(0x1000000, side)
	s = s.Busy(side)
	s, _ = s.Free(0x1000000)
	printed := fmt.Sprintf("%#v", s)
	if released := s.ReleaseDefaultPool(); len(released.Events) > 0 || len(released.Segments) > 0 {
		t.Errorf("%d events and %d segments are left", len(released.Events), len(released.Segments))
	}
	if now := fmt.Sprintf("%#v", s); now != printed {
		t.Errorf("the state was\n%s\nand is\n%s", printed, now)
	}
}

// TestForbiddenCalls: each kind of driver call that was forbidden is recorded, once.
func TestForbiddenCalls(t *testing.T) {
	truth := model.Truth{}.Call(model.WaitEvent, true).Call(model.FreeMemory, false).Call(model.WaitEvent, true)
	if got := truth.Illegal; len(got) != 1 || got[0] != model.WaitEvent {
		t.Errorf("%v", got)
	}
}

// TestEventsInCaptures: what is done to a single event while the program captures is forbidden, and
// nothing is where there is no event.
func TestEventsInCaptures(t *testing.T) {
	capture := model.PoolRouting{Pool: spec.PoolID{Capture: 1}, Stream: side.Stream}
	event := malloc(newState(""), 5*mib, 0x1000000)
	event, _ = event.RecordStream(0x1000000, side)
	event = event.Busy(side)
	recorded, _ := event.Free(0x1000000)
	relaxed := recorded
	relaxed.RelaxedCaptures = true
	none := newState("")
	for _, test := range []struct {
		name  string
		state model.State
		call  func(model.State) model.State
		want  []model.DriverCall
	}{
		{"record", event, func(s model.State) model.State { s, _ = s.Free(0x1000000); return s }, []model.DriverCall{model.RecordEvent}},
		{"query", relaxed, model.State.ProcessEvents, []model.DriverCall{model.QueryEvent}},
		{"no query in a capture that forbids frees", recorded, model.State.ProcessEvents, nil},
		{"wait", recorded, model.State.SynchronizeAndFreeEvents, []model.DriverCall{model.WaitEvent}},
		{"query none", none, model.State.ProcessEvents, nil},
		{"wait for none", none, model.State.SynchronizeAndFreeEvents, nil},
	} {
		if next := test.call(test.state); len(next.Truth.Illegal) > 0 {
			t.Errorf("%s, without a capture: %v", test.name, next.Truth.Illegal)
		}
		captured := test.state
		captured.Truth = captured.Truth.BeginCapture(capture)
		if next := test.call(captured); !slices.Equal(next.Truth.Illegal, test.want) {
			t.Errorf("%s: %v, want %v", test.name, next.Truth.Illegal, test.want)
		}
	}
}

// TestUsesOfWhatIsNotHeld: nothing is launched for memory that the program does not hold.
func TestUsesOfWhatIsNotHeld(t *testing.T) {
	s := newState("")
	s.Truth = model.Truth{Touches: []model.Touch{{Ptr: 0x1000000, Stream: side}}}
	if next := s.LaunchUses(0x1000000); !next.Equal(s) {
		t.Errorf("%#v", next.Streams)
	}
}

// TestStreamsInStates: states differ by what a stream has to do and by what it has done; streams
// are in the order of their handles, also when these are renamed.
func TestStreamsInStates(t *testing.T) {
	s := newState("")
	other := spec.DeviceStream{Stream: 9}
	once := s.Busy(side)
	if twice := once.Busy(side); once.Equal(twice) || once.Equal(twice.Complete(side)) {
		t.Error("states are equal whose streams differ")
	}
	both := once.Busy(other)
	renamed := both.Rename(func(s spec.Stream) spec.Stream { return 20 - s })
	if len(renamed.Streams) != 2 || renamed.Streams[0].ID.Stream != 11 || renamed.Streams[1].ID.Stream != 13 {
		t.Errorf("the streams are %v, renamed %v", both.Streams, renamed.Streams)
	}
}

// TestStringOfPendingMallocs: the description has the segments and then the pending mallocs.
func TestStringOfPendingMallocs(t *testing.T) {
	s := malloc(newState("release_lock_on_cudamalloc:True"), 5*mib, 0x1000000)
	s, _, _ = s.MallocSearch(1, 0, 20*mib, model.DriverResults{})
	s, _, _ = s.MallocResume(1, model.DriverResults{Segment: 0x3000000})
	want := `device 0: 20971520 of 1073741824 bytes reserved
  0x1000000 stream default: [5242880 active_allocated] [15728640 inactive]
  pending malloc of 20971520 bytes, granted 0x3000000`
	if text := s.String(); text != want {
		t.Errorf("the state is described as\n%s\nnot as\n%s", text, want)
	}
}

// TestNullPointer: the null pointer is of no memory. To free it, or to record it, does nothing.
func TestNullPointer(t *testing.T) {
	s := malloc(newState(""), 5*mib, 0x1000000)
	for name, op := range map[string]func(spec.Ptr) (model.State, model.Result){
		"free":          s.Free,
		"record_stream": func(p spec.Ptr) (model.State, model.Result) { return s.RecordStream(p, side) },
	} {
		if next, r := op(0); r.Err != nil || !next.Equal(s) {
			t.Errorf("%s of null: %v, %v", name, r.Err, next)
		}
		var invalid *spec.InvalidPointerError
		if next, r := op(1); !errors.As(r.Err, &invalid) || invalid.Ptr != 1 || !next.Equal(s) {
			t.Errorf("%s of 1: %v, %v", name, r.Err, next)
		}
	}
}

// TestCurrent: of each statistic the current value stays, and the counters stay.
func TestCurrent(t *testing.T) {
	var stats, want spec.DeviceStats
	n := int64(0)
	fill := func(s, current *spec.Stat) {
		n += 10
		*s = spec.Stat{Current: n, Peak: n + 1, Allocated: n + 2, Freed: n + 3}
		current.Current = n
	}
	arrays, wanted := stats.Arrays(), want.Arrays()
	for i := range arrays {
		for kind := range arrays[i].Array {
			fill(&arrays[i].Array[kind], &wanted[i].Array[kind])
		}
	}
	fill(&stats.OversizeAllocations, &want.OversizeAllocations)
	fill(&stats.OversizeSegments, &want.OversizeSegments)
	for i, c := range stats.Counters() {
		*c.Value = int64(i) + 1
		*want.Counters()[i].Value = int64(i) + 1
	}
	if got := model.Current(stats); got != want {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

// TestRequestLargerThanRange: a request that is larger than the address range of an expandable
// segment is out of memory, and maps no pages, neither of the new range nor of another stream's.
func TestRequestLargerThanRange(t *testing.T) {
	s := newState("expandable_segments:True")
	results := model.DriverResults{LowestFrom: 0x1000000}
	s, first := s.Malloc(1, 5*mib, results)
	next, second := s.Malloc(2, 2*s.Memory, results)
	if first.Err != nil || !errors.Is(second.Err, spec.ErrOutOfMemory) {
		t.Fatalf("%v, %v", first.Err, second.Err)
	}
	if !slices.Equal(s.Truth.Granted, next.Truth.Granted) {
		t.Errorf("%v is mapped, and then %v", s.Truth.Granted, next.Truth.Granted)
	}
}
