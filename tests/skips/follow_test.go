package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestFollow: testdata has what "go test -json" writes, without the times, and what is
// made of it.
//
//	list         the list of expected skips, for what follows
//	follow [short]
func TestFollow(t *testing.T) {
	var list []*entry
	datadriven.RunTest(t, "testdata/follow", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "list":
			read, err := readList(d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			list = read
			return ""
		case "follow":
			for _, e := range list {
				e.matched = 0
			}
			var out strings.Builder
			failed, err := follow(strings.NewReader(d.Input), &out, list, d.HasArg("short"))
			if err != nil {
				out.WriteString(err.Error() + "\n")
			}
			if failed {
				out.WriteString("exit status 1\n")
			}
			return out.String()
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

// TestList: the list can be read, and names packages that are there.
func TestList(t *testing.T) {
	list, err := readList(expected)
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	for _, e := range list {
		dir := filepath.Join("../..", strings.TrimPrefix(e.pkg, module))
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
