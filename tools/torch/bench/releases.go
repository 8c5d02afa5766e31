//go:build cgo && linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// times are the medians of a workload, as the process of one release prints them for the process of
// all: nanoseconds an operation.
type times struct {
	Workload      string
	PyTorch, Ours float64
}

func timesOf(results []result) (list []times) {
	for _, r := range results {
		list = append(list, times{r.workload.String(), r.times[0].median(), r.times[1].median()})
	}
	return list
}

// byRelease measures several releases, one after the other. Each has a process of its own, for the
// libraries of two releases have the same names.
func byRelease(to io.Writer, o options, releases []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all [][]times
	load(to, "before")
	for _, release := range releases {
		fmt.Fprintln(os.Stderr, release)
		run := exec.Command(self, "-times", "-torch", release, "-runs", strconv.Itoa(o.runs), "-steps", strconv.Itoa(o.steps), "-only", o.only.String())
		run.Stderr = os.Stderr
		out, err := run.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", release, err)
		}
		var list []times
		if err := json.Unmarshal(out, &list); err != nil {
			return fmt.Errorf("%s: %w", release, err)
		}
		all = append(all, list)
	}
	load(to, "after")
	fmt.Fprintf(to, "\n%s\n", releasesTable(releases, all))
	return nil
}

// releasesTable has a row for each workload and a column for each release: PyTorch's time, ours,
// and ours divided by PyTorch's.
func releasesTable(releases []string, all [][]times) string {
	header := []any{"workload"}
	for _, release := range releases {
		header = append(header, release)
	}
	t := newTable(header...)
	for i, w := range all[0] {
		row := table.Row{w.Workload}
		for _, list := range all {
			row = append(row, fmt.Sprintf("%s / %s = %.2f", ns(list[i].PyTorch), ns(list[i].Ours), list[i].Ours/list[i].PyTorch))
		}
		t.AppendRow(row)
	}
	return t.RenderMarkdown()
}

// splitReleases are the releases that -torch names.
func splitReleases(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' })
}
