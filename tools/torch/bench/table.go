//go:build cgo && linux

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// newTable is a table whose columns behind the first are numbers.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

// timesTable is the times of both sides in nanoseconds an operation.
func timesTable(results []result) string {
	t := newTable("workload", "PyTorch", "quartiles", "min", "ours", "quartiles", "min", "ours/PyTorch", "of min", "driver calls")
	for _, r := range results {
		row := table.Row{r.workload}
		for _, s := range r.times {
			row = append(row, ns(s.median()), ns(s.quantile(0.25))+"–"+ns(s.quantile(0.75)), ns(s.min()))
		}
		row = append(row, fmt.Sprintf("%.2f", r.ratio()), fmt.Sprintf("%.2f", r.ratioOfMin()),
			fmt.Sprintf("%d / %d", r.driverCalls[0], r.driverCalls[1]))
		t.AppendRow(row)
	}
	return t.RenderMarkdown()
}

func ns(n float64) string { return humanize.Comma(int64(math.Round(n))) }

// costsTable is what calls cost alone.
func costsTable(costs []cost) string {
	t := newTable("a call alone", "ns", "min")
	for _, c := range costs {
		t.AppendRow(table.Row{c.name, fmt.Sprintf("%.1f", c.times.median()), fmt.Sprintf("%.1f", c.times.min())})
	}
	return t.RenderMarkdown()
}

// countsTable is the calls of PyTorch's allocator in a number of operations: each a malloc and
// a free.
func countsTable(list []callCounts) string {
	names := map[string]bool{}
	header := []any{fmt.Sprintf("calls in %d operations of PyTorch", countedSteps)}
	for _, c := range list {
		header = append(header, c.Workload)
		for name := range c.Calls {
			names[name] = true
		}
	}
	t := newTable(header...)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := table.Row{name}
		for _, c := range list {
			row = append(row, c.Calls[name])
		}
		t.AppendRow(row)
	}
	return t.RenderMarkdown()
}
