package report

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestStates: the states at all entries have the bytes that are reserved and allocated there. If
// fewer are kept they begin later.
func TestStates(t *testing.T) {
	for _, most := range []int{1 << 30, 300} {
		f := open(t, "../tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		state := newAllocatorState(w.InitialSegments, w.Settings, nil)
		recorder := recordStates(state, len(w.Trace), most)
		var bytes [][2]uint64 // allocated and reserved, after each entry
		for i := range w.Trace {
			recorder.now = int64(i)
			state.add(i, &w.Trace[i])
			bytes = append(bytes, [2]uint64{state.allocatedBytes, state.reservedBytes})
		}
		b := &builder{data: &Data{Stacks: newStacks(1)}, limits: limits{states: most}}
		s := b.states(recorder)
		if late := s.First > 0; late != (most == 300) || len(s.Blocks)+len(s.Ranges) > most {
			t.Errorf("at most %d are kept: the first is %d, %d blocks, %d ranges", most, s.First, len(s.Blocks), len(s.Ranges))
		}
		for i := s.First; i < len(bytes); i += 97 {
			var allocated, reserved uint64
			for _, r := range s.Ranges {
				if r[stateBegin] <= int64(i) && int64(i) < r[stateEnd] {
					reserved += uint64(r[stateBytes])
				}
			}
			for _, r := range s.Blocks {
				if r[stateBegin] <= int64(i) && int64(i) < min(r[stateEnd], r[stateFreed]) {
					allocated += uint64(r[stateBytes])
				}
			}
			if now := [2]uint64{allocated, reserved}; now != bytes[i] {
				t.Fatalf("after entry %d %d bytes are allocated and reserved, not %d", i, now, bytes[i])
			}
		}
	}
}

// TestPackedStates: what is unpacked, by the sums that the page makes, is what was packed. In fewer bytes
// there are the states from a later entry on.
func TestPackedStates(t *testing.T) {
	d := buildRun(t, "../tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	whole := d.States.pack(maxPackedBytes)
	for _, most := range []int{maxPackedBytes, len(whole.Packed), len(whole.Packed) / 3, 1000, 1} {
		packed := d.States.pack(most)
		if late := packed.First > 0; late != (most < len(whole.Packed)) || len(packed.Packed) > most && most > 1 {
			t.Fatalf("at most %d bytes: %d, from entry %d on", most, len(packed.Packed), packed.First)
		}
		var c stateColumns
		if err := json.NewDecoder(flate.NewReader(bytes.NewReader(packed.Packed))).Decode(&c); err != nil {
			t.Fatal(err)
		}
		got := States{First: packed.First, Ranges: []StateRange{}, Blocks: []StateBlock{}}
		var begin, address int64
		for i := range c.Ranges[0] {
			begin, address = begin+c.Ranges[stateBegin][i], address+c.Ranges[stateAddress][i]
			got.Ranges = append(got.Ranges, StateRange{begin, begin + c.Ranges[stateEnd][i], address, c.Ranges[stateBytes][i], c.Ranges[stateKind][i]})
		}
		begin, address = 0, 0
		for i := range c.Blocks[0] {
			begin, address = begin+c.Blocks[stateBegin][i], address+c.Blocks[stateAddress][i]
			end, size := begin+c.Blocks[stateEnd][i], c.Blocks[stateBytes][i]
			got.Blocks = append(got.Blocks, StateBlock{begin, end, address, size, size - c.Blocks[stateRequested][i], c.Blocks[stateStack][i], end - c.Blocks[stateFreed][i]})
		}
		want := States{First: packed.First, Ranges: []StateRange{}, Blocks: []StateBlock{}}
		for _, r := range d.States.Ranges {
			if int(r[stateEnd]) >= packed.First {
				want.Ranges = append(want.Ranges, r)
			}
		}
		for _, b := range d.States.Blocks {
			if int(b[stateEnd]) >= packed.First {
				want.Blocks = append(want.Blocks, b)
			}
		}
		got.Stacks, want.Stacks = stacks{}, stacks{}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(stacks{}, stackNumbers{})); diff != "" {
			t.Fatalf("at most %d bytes (-want +got):\n%.2000s", most, diff)
		}
	}
}

// TestStatesOfLateRecords: if the first third of a record is not there, the states after the others are
// the same, to the address and size of each block.
func TestStatesOfLateRecords(t *testing.T) {
	files, err := filepath.Glob("../tell/testdata/snapshots/*.pickle.gz")
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	compared := 0
	for _, file := range files {
		f := open(t, file)
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !w.Complete() {
			continue
		}
		whole, cut := f.DeviceTraces[0], len(w.Trace)/3
		f.DeviceTraces = slices.Clone(f.DeviceTraces)
		f.DeviceTraces[0] = whole[cut:]
		late, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		a, b := newAllocatorState(w.InitialSegments, w.Settings, nil), newAllocatorState(late.InitialSegments, late.Settings, nil)
		for i := range whole {
			if a.add(i, &whole[i]); i < cut {
				continue
			}
			b.add(i-cut, &whole[i])
			if i%97 != 0 {
				continue
			}
			compared++
			if diff := cmp.Diff(inLines(a.segments(0)), inLines(b.segments(0))); diff != "" {
				t.Fatalf("%s, entry %d (-whole +late):\n%.2000s", filepath.Base(file), i, diff)
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d states were compared", compared)
	}
}

// TestStatesOfRunsRecordedLate: of a program that was recorded from its start and, in another run, late, the states are the
// same after the same entries, apart from where the segments are.
func TestStatesOfRunsRecordedLate(t *testing.T) {
	for _, name := range []string{"../tell/testdata/late/detect", "../../../shared/snapshots-late/unet"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if _, err := os.Stat(name + ".default.nolimit.pickle.gz"); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is in the folder shared beside the project", name)
			}
			states := [2]*allocatorState{}
			traces := [2][]snapshot.TraceEntry{}
			for i, of := range []string{"", "_late"} {
				f := open(t, name+of+".default.nolimit.pickle.gz")
				w, err := play.FromSnapshot(f, 0)
				if err != nil || w.Complete() != (i == 0) {
					t.Fatal(of, err)
				}
				states[i], traces[i] = newAllocatorState(w.InitialSegments, w.Settings, nil), f.DeviceTraces[0]
			}
			before := len(traces[0]) - len(traces[1])
			for i := range traces[0] {
				whole := &traces[0][i]
				if states[0].add(i, whole); i < before {
					continue
				}
				late := &traces[1][i-before]
				if whole.Action != late.Action || whole.Size != late.Size {
					t.Fatalf("entry %d is another one", i)
				}
				states[1].add(i-before, late)
				if i%61 != 0 && i < len(traces[0])-1 {
					continue
				}
				if diff := cmp.Diff(withoutAddresses(states[0]), withoutAddresses(states[1])); diff != "" {
					t.Fatalf("entry %d (-whole +late):\n%.2000s", i, diff)
				}
			}
		})
	}
}

// withoutAddresses has the segments of a state with the places of their blocks, in order of the texts.
func withoutAddresses(s *allocatorState) []string {
	lines := []string{fmt.Sprint(s.allocatedBytes, " of ", s.reservedBytes)}
	for _, of := range s.segments(0) {
		base := of.Address
		for i := range of.Blocks {
			of.Blocks[i].Address -= base
		}
		of.Address = 0
		lines = append(lines, strings.Join(inLines([]spec.Segment{of}), " "))
	}
	slices.Sort(lines)
	return lines
}

// TestPageOfStates: nor does a page with call stacks of 60 frames of their own, and blocks at random, grow with a
// history, and it says from which entry on it has the states.
func TestPageOfStates(t *testing.T) {
	f := manyEntries(300_000)
	random := uint32(1)
	for i := range f.DeviceTraces[0] {
		e := &f.DeviceTraces[0][i]
		if i%50 == 0 {
			var stack snapshot.Frames
			for j := range 60 {
				random = random*1664525 + 1013904223
				stack = append(stack, &snapshot.Frame{Filename: strings.Repeat("x", int(random>>24)), Line: int(random >> 8), Name: strings.Repeat("f", j)})
			}
			e.Context = &snapshot.Context{Frames: stack}
		}
		if e.Action == spec.ActionAlloc {
			random = random*1664525 + 1013904223
			e.Size = 1<<20 + uint64(random>>12)
		}
	}
	d := build(t, f)
	if size := sizeOf(t, pageOf(d)); size > 9<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	d.States.Blocks = slices.Repeat(d.States.Blocks, 4) // as a history four times as long
	if size := sizeOf(t, pageOf(d)); size > 9<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	if packed := d.States.pack(maxPackedBytes); packed.First == 0 {
		t.Errorf("the states begin at the first entry, in %d bytes", len(packed.Packed))
	}
}

// TestReportKeepsNoSnapshot: what a page needs of a rank keeps nothing of its snapshot in memory, of which there may be
// hundreds of MiB.
func TestReportKeepsNoSnapshot(t *testing.T) {
	f := open(t, "testdata/small.json")
	freed := make(chan struct{})
	for i := range f.DeviceTraces[0] {
		if c := f.DeviceTraces[0][i].Context; c != nil && len(c.Frames) > 0 {
			runtime.SetFinalizer(c, func(*snapshot.Context) { close(freed) })
			break
		}
	}
	d := build(t, f)
	ranks := &RankBuilder{}
	ranks.Add("rank0", d)
	d.Pack(1)
	f = nil
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			runtime.KeepAlive(d)
			runtime.KeepAlive(ranks)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the snapshot is kept")
}
