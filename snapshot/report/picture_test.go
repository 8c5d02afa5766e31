package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// TestPictureArrives: a picture that has taken in a whole history shows what the snapshot
// itself says of its end, block by block.
func TestPictureArrives(t *testing.T) {
	for _, file := range recordedRuns(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pickle.gz"), func(t *testing.T) {
			f := open(t, file)
			history, err := whatif.Rebuild(f, 0)
			if err != nil {
				t.Fatal(err)
			}
			p := newPicture(history.Start, f.Settings.Config)
			for i := range f.Traces[0] {
				p.add(i, &f.Traces[0][i])
			}
			if diff := cmp.Diff(inLines(f.Segments), inLines(p.segments(0))); diff != "" {
				t.Errorf("(-snapshot +picture):\n%s", diff)
			}
		})
	}
}

// inLines writes down what a picture can know of segments.
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

// TestGiveBack: pages of an expandable segment are mapped one after the other, and go
// back in any pieces.
func TestGiveBack(t *testing.T) {
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
		{"nothing that is held", 7, 1, "0+6", 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			const page, base = 20 << 20, 1 << 40
			none := &snapshot.Context{}
			p := newPicture(nil, spec.DefaultConfig(spec.DefaultGeometry()))
			step := func(action spec.Action, at, size uint64) {
				p.add(0, &snapshot.Entry{TraceEntry: spec.TraceEntry{Action: action, Addr: spec.Ptr(base + at*page), Size: size * page}, Context: none})
			}
			step(spec.ActionSegmentMap, 0, 3)
			step(spec.ActionSegmentMap, 3, 3)
			step(spec.ActionSegmentUnmap, test.at, test.size)
			var left []string
			for _, s := range p.segments(0) {
				left = append(left, fmt.Sprintf("%d+%d", (s.Address-base)/page, s.TotalSize/page))
			}
			if got := strings.Join(left, " "); got != test.want || p.reserved != test.reserved*page {
				t.Errorf("left %q, %d pages reserved, want %q, %d", got, p.reserved/page, test.want, test.reserved)
			}
		})
	}
}
