package fakegpu

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gaugeblock/spec"
)

// TestRealAddresses replays what a real driver was asked for, and expects the
// addresses that it gave.
func TestRealAddresses(t *testing.T) {
	files, err := filepath.Glob("testdata/addresses/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { replayAddresses(t, file) })
	}
}

func replayAddresses(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policy := newRealLike(0)
	policy.top = 0 // where the recording says
	lines := bufio.NewScanner(f)
	for line := 1; lines.Scan(); line++ {
		var what string
		var at, hole spec.Range
		n, _ := fmt.Sscanf(lines.Text(), "%s %v %d hole %v %d", &what, &at.Ptr, &at.Bytes, &hole.Ptr, &hole.Bytes)
		switch {
		case what == "#":
		case what == "chunk" && n == 5:
			c := &chunk{area: at, holes: []spec.Range{hole}}
			policy.newest = append(policy.newest, c)
			policy.occupy(c)
		case what == "taken" && n == 3:
			policy.occupy(&chunk{area: at})
		case what == "malloc" && n == 3:
			if got := policy.Place(at.Bytes); got != at.Ptr {
				t.Fatalf("line %d: Place(%d) = %v, the driver gave %v", line, at.Bytes, got, at.Ptr)
			}
		case what == "free" && n == 3:
			policy.Vacate(at.Ptr, at.Bytes)
		case what == "reserve" && n == 3:
			if got := policy.PlaceRange(at.Bytes); got != at.Ptr {
				t.Fatalf("line %d: PlaceRange(%d) = %v, the driver gave %v", line, at.Bytes, got, at.Ptr)
			}
		case what == "return" && n == 3:
			policy.VacateRange(at.Ptr, at.Bytes)
		default:
			t.Fatalf("line %d: %q", line, lines.Text())
		}
	}
}

// occupy puts a chunk where it was before the recording.
func (r *realLike) occupy(c *chunk) {
	i, _ := slices.BinarySearchFunc(r.byAddr, c.area.Ptr, func(o *chunk, p spec.Ptr) int { return byBase(o.area, p) })
	r.byAddr = slices.Insert(r.byAddr, i, c)
	r.top = max(r.top, c.area.End())
}
