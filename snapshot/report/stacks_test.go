package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
)

// TestKeysOfStacks: stacks that differ in where one text ends and the next begins are different.
func TestKeysOfStacks(t *testing.T) {
	s, seen := newStacks(1), map[string]bool{}
	for _, f := range []snapshot.Frame{{Filename: "ab", Name: "c"}, {Filename: "a", Name: "bc"}, {Filename: "ab", Name: "c", Line: 1}, {Filename: "ab\x00\x01c"}, {Filename: "a", Line: 49, Name: "\x01c"}} {
		seen[s.keyOf(snapshot.Frames{&f}, 0)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d keys of 5 stacks", len(seen))
	}
}

// TestFramesOfStacks: which frames of a call stack a page has. The program's own frame is among
// them, however deep the stack is and however many bytes the stacks before have taken.
func TestFramesOfStacks(t *testing.T) {
	cost := func(list snapshot.Frames) int { // of the frames alone
		s := newStacks(1)
		s.add(list)
		return pageBytes(t, &s) - 6*len(list)
	}
	for _, test := range []struct {
		what        string
		bytes       int // that the stacks before have taken
		share       int
		length, own int
		want        []int // the lines of the frames
		leftOut     int
	}{
		{"all", 0, 1, 4, 2, upTo(4), 0},
		{"the most", 0, 1, maxFrames, maxFrames - 1, upTo(maxFrames), 0},
		{"one more", 0, 1, maxFrames + 1, 2, upTo(maxFrames), 1},
		{"one more, which is the program's", 0, 1, maxFrames + 1, maxFrames, append(upTo(maxFrames-1), maxFrames), 1},
		{"the program's is deep", 0, 1, 2 * maxFrames, maxFrames + 7, append(upTo(maxFrames-1), maxFrames+7), 1},
		{"as many bytes as all frames have", twoFramesAbove - cost(stackOf(4, 2)), 1, 4, 2, upTo(4), 0},
		{"a byte more", twoFramesAbove - cost(stackOf(4, 2)) + 1, 1, 4, 2, []int{0, 2}, 1},
		{"a byte more, and the program's is the innermost", twoFramesAbove - cost(stackOf(4, 0)) + 1, 1, 4, 0, []int{0}, 1},
		{"a byte more, and there are two", twoFramesAbove - cost(stackOf(2, 1)) + 1, 1, 2, 1, upTo(2), 0},
		{"two frames", ownFrameAbove, 1, 4, 2, []int{0, 2}, 1},
		{"the program's", ownFrameAbove + 1, 1, 4, 2, []int{2}, 1},
		{"the program's, which is the only one", ownFrameAbove + 1, 1, 1, 0, []int{0}, 0},
		{"the last", noFramesAbove, 1, 4, 2, []int{2}, 1},
		{"none", noFramesAbove + 1, 1, 4, 2, nil, 1},
		{"the page is shared, as many bytes as all frames have", twoFramesAbove/2 - cost(stackOf(4, 2)), 2, 4, 2, upTo(4), 0},
		{"the page is shared, a byte more", twoFramesAbove/2 - cost(stackOf(4, 2)) + 1, 2, 4, 2, []int{0, 2}, 1},
		{"the page is shared, a byte more, and the program's is the innermost", twoFramesAbove/2 - cost(stackOf(4, 0)) + 1, 2, 4, 0, []int{0}, 1},
		{"the page is shared, the program's", ownFrameAbove/2 + 1, 2, 4, 2, []int{2}, 1},
		{"the page is shared, none", noFramesAbove/2 + 1, 2, 4, 2, nil, 1},
	} {
		s := newStacks(test.share)
		s.bytes = test.bytes
		given := stackOf(test.length, test.own)
		before := slices.Clone(given)
		at := s.add(given)
		if !slices.Equal(given, before) {
			t.Errorf("%s: the call stack itself has changed", test.what)
		}
		if again := s.add(stackOf(test.length, test.own)); again != at || (at == noStack) != (test.want == nil) || s.LeftOut != test.leftOut {
			t.Errorf("%s: stack %d, the second time %d, %d are left out", test.what, at, again, s.LeftOut)
			continue
		}
		if at == noStack {
			continue
		}
		var got []int
		for _, n := range s.Stacks[at] {
			got = append(got, s.Frames[n].Line)
		}
		if !slices.Equal(got, test.want) || s.Frames[s.Own[at]].Line != test.own {
			t.Errorf("%s: the lines %v, not %v, the program's is %d", test.what, got, test.want, s.Frames[s.Own[at]].Line)
		}
		if want := test.bytes + pageBytes(t, &s); s.bytes != want {
			t.Errorf("%s: %d bytes are counted, not %d", test.what, s.bytes, want)
		}
	}
}

// TestFramesAreShared: frames that another stack has as well are there once, and cost nothing.
func TestFramesAreShared(t *testing.T) {
	frame := func(line int) *snapshot.Frame { return &snapshot.Frame{Filename: "train.py", Line: line, Name: "f"} }
	s := newStacks(1)
	first := s.add(snapshot.Frames{frame(1), frame(2), frame(3)})
	s.bytes = twoFramesAbove
	second := s.add(snapshot.Frames{frame(3), frame(1), frame(2)})
	third := s.add(snapshot.Frames{frame(3), frame(4), frame(1)})
	want := [][]int{{0, 1, 2}, {2, 0, 1}, {2}}
	if diff := cmp.Diff(want, s.Stacks); diff != "" || first != 0 || second != 1 || third != 2 || len(s.Frames) != 3 || s.LeftOut != 1 {
		t.Errorf("stacks %d, %d and %d of %d frames, %d are left out: %s", first, second, third, len(s.Frames), s.LeftOut, diff)
	}
}
