package whatif

import (
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/spec"
)

// Table is the predictions as text, the best first. Statistics that are not exact are
// marked with "~", and peak reserved is then a range.
func (c *Comparison) Table() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	t.Style().Options.DrawBorder = false
	header := table.Row{"settings", "peak reserved", "peak allocated", "unallocated", "alloc retries", "device allocs+frees", "out of memory"}
	if c.LimitSearch {
		header = append(header, "smallest limit")
	}
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, p := range c.Ranked() {
		row := table.Row{
			NameOf(p.Settings), p.mark() + p.PeakReservedRange.text(), p.mark() + spec.FormatSize(p.PeakAllocated),
			fmt.Sprintf("%s%.1f%%", p.mark(), 100*p.Unallocated()),
			p.mark() + strconv.FormatInt(p.Retries, 10),
			p.mark() + strconv.FormatInt(p.DeviceAllocs+p.DeviceFrees, 10),
			p.oomInTable(),
		}
		if c.LimitSearch {
			row = append(row, p.SmallestLimit.text())
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// mark is put before a statistic that is not exact.
func (p *Prediction) mark() string {
	if p.Exact() {
		return ""
	}
	return "~"
}

func (p *Prediction) oomInTable() string {
	switch {
	case p.FirstOOM != nil:
		return p.mark() + "at request " + strconv.Itoa(p.FirstOOM.Number)
	case p.OOMRuns > 0:
		return fmt.Sprintf("in %d of %d runs", p.OOMRuns, p.Runs)
	}
	return p.mark() + "no"
}

// Summary describes a workload in one line.
func (w *Workload) Summary() string {
	line := fmt.Sprintf("%d requests for memory of device %d", w.Mallocs, w.Device)
	if w.DurationUS > 0 {
		line += fmt.Sprintf(" in %.1f seconds", float64(w.DurationUS)/1e6)
	}
	if w.Complete() {
		return line + "; the history is complete."
	}
	reserved, _ := reservedBytes(nil, w.InitialSegments)
	return line + fmt.Sprintf("; the beginning of the history is missing. At its start %s is reserved, %s of it allocated.",
		spec.FormatSize(reserved), spec.FormatSize(w.allocatedAtStart()))
}
