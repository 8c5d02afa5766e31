package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

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

// TestWorstRankIsShown: a page shows the worst rank, in place of the last of the others if there are more than it has
// room for.
func TestWorstRankIsShown(t *testing.T) {
	data, err := filepath.Abs("../../snapshot/report/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, worst := range []int{3, mostOpened, mostOpened + 2} {
		folder := fmt.Sprint("run", worst)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for rank := range mostOpened + 3 {
			file := "small.json"
			if rank == worst {
				file = "rich.json"
			}
			if err := os.Symlink(filepath.Join(data, file), filepath.Join(folder, fmt.Sprintf("rank%02d.json", rank))); err != nil {
				t.Fatal(err)
			}
		}
		if status := run([]string{"report", "--no-whatif", "-o", "page.json", folder}, nil, io.Discard, io.Discard); status != statusExact {
			t.Fatalf("status %d", status)
		}
		var page struct {
			Shown   int
			Reports []struct{ Title string }
			Ranks   struct{ List []struct{} }
		}
		if text, err := os.ReadFile("page.json"); err != nil || json.Unmarshal(text, &page) != nil {
			t.Fatal(err)
		}
		if len(page.Reports) != mostOpened || len(page.Ranks.List) != mostOpened+3 || page.Shown != min(worst, mostOpened-1) {
			t.Fatalf("the worst is %d of %d: %d of %d is shown", worst, len(page.Ranks.List), page.Shown, len(page.Reports))
		}
		for i, r := range page.Reports {
			rank := i
			if i == page.Shown {
				rank = worst
			}
			if want := fmt.Sprint("rank ", rank); r.Title != want {
				t.Errorf("the worst is %d: report %d is %s, not %s", worst, i, r.Title, want)
			}
		}
	}
}
