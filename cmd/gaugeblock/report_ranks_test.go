package main

import "testing"

// TestRankName: the path below the folder that was given, of several the first in which the file is.
func TestRankName(t *testing.T) {
	for _, test := range []struct {
		given      []string
		path, want string
	}{
		{[]string{"run7"}, "run7/rank1/s.pickle", "rank1/s.pickle"},
		{[]string{"run7", "run8"}, "run8/rank1/s.pickle", "rank1/s.pickle"},
		{[]string{"run7/rank1"}, "run7/rank10/s.pickle", "s.pickle"},
		{[]string{"run7/s.pickle"}, "run7/s.pickle", "s.pickle"},
		{nil, "run7/s.pickle", "s.pickle"},
		{[]string{"/run7"}, "run7/s.pickle", "s.pickle"},
	} {
		if got := rankName(test.given, test.path); got != test.want {
			t.Errorf("%v, %s: %q, not %q", test.given, test.path, got, test.want)
		}
	}
}
