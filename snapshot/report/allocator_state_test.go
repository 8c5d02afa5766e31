package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestStateAtEnd: the state after a whole history has the segments and blocks of the
// snapshot.
func TestStateAtEnd(t *testing.T) {
	late, _ := filepath.Glob("../../../shared/snapshots-late/*.pickle.gz")
	more, _ := filepath.Glob("../tell/testdata/late/*.pickle.gz")
	for _, file := range slices.Concat(recordedRuns(t), late, more) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pickle.gz"), func(t *testing.T) {
			f := open(t, file)
			workload, err := play.FromSnapshot(f, 0)
			if err != nil {
				t.Fatal(err)
			}
			p := newAllocatorState(workload.InitialSegments, history.SettingsOf(f.AllocatorSettings.Config), nil)
			for i := range f.DeviceTraces[0] {
				p.add(i, &f.DeviceTraces[0][i])
			}
			if diff := cmp.Diff(inLines(f.Segments), inLines(p.segments(0))); diff != "" {
				t.Errorf("(-snapshot +state):\n%s", diff)
			}
		})
	}
}

// inLines lists what a state knows of segments.
func inLines(segments []spec.Segment) []string {
	var lines []string
	for _, s := range segments {
		lines = append(lines, fmt.Sprintf("%v %d stream %v large %v expandable %v", s.Address, s.TotalSize, s.Stream, s.PoolKind, s.Expandable))
		for _, b := range s.Blocks {
			requested := b.RequestedSize
			if b.State == spec.Inactive {
				requested = 0
			}
			lines = append(lines, fmt.Sprintf("  %v %d %v %d", b.Address, b.Size, b.State, requested))
		}
	}
	return lines
}

// TestUnreserve: pages of an expandable segment are mapped one after the other, and
// unmapped in any ranges.
func TestUnreserve(t *testing.T) {
	for _, test := range []struct {
		name     string
		at, size uint64 // in pages
		want     string // what is left, in pages
		reserved uint64
	}{
		{"all", 0, 6, "", 0},
		{"the first", 0, 1, "1+5", 5},
		{"the last", 5, 1, "0+5", 5},
		{"from the middle", 1, 2, "0+1 3+3", 4},
		{"across a mapping", 1, 4, "0+1 5+1", 2},
		{"nothing that is reserved", 7, 1, "0+6", 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			const page, base = 20 << 20, 1 << 40
			none := &snapshot.Context{}
			p := newAllocatorState(nil, history.DefaultSettings(), nil)
			step := func(action spec.Action, at, size uint64) {
				p.add(0, &snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: spec.Ptr(base + at*page), Size: size * page}, Context: none})
			}
			step(spec.ActionSegmentMap, 0, 3)
			step(spec.ActionSegmentMap, 3, 3)
			step(spec.ActionSegmentUnmap, test.at, test.size)
			var left []string
			for _, s := range p.segments(0) {
				left = append(left, fmt.Sprintf("%d+%d", (s.Address-base)/page, s.TotalSize/page))
			}
			if got := strings.Join(left, " "); got != test.want || p.reservedBytes != test.reserved*page {
				t.Errorf("left %q, %d pages reserved, want %q, %d", got, p.reservedBytes/page, test.want, test.reserved)
			}
		})
	}
}

// TestDoubtfulFrees: a free that the record has twice counts once, and one of memory that is not
// active not at all.
func TestDoubtfulFrees(t *testing.T) {
	s := newAllocatorState(nil, history.DefaultSettings(), nil)
	step := func(action spec.Action, at spec.Ptr) {
		s.add(0, &snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: at, Size: 512}, Context: &snapshot.Context{}})
	}
	step(spec.ActionSegmentAlloc, 0x200000)
	step(spec.ActionAlloc, 0x200000)
	step(spec.ActionAlloc, 0x200200)
	step(spec.ActionFreeRequested, 0x200200)
	step(spec.ActionFreeRequested, 0x200200)
	step(spec.ActionFreeRequested, 0x200400)
	if s.allocatedBytes != 512 || s.active.Len() != 2 {
		t.Errorf("%d bytes are allocated, %d blocks are active", s.allocatedBytes, s.active.Len())
	}
}
