package whatif

import (
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/spec"
)

// Table draws the rows, the best first. A figure that is not exact is marked with
// "~", and peak reserved is then a range.
func (s *Study) Table() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	t.Style().Options.DrawBorder = false
	header := table.Row{"settings", "peak reserved", "peak allocated", "fragmentation", "retries", "driver calls", "out of memory"}
	search := len(s.Rows) > 0 && s.Rows[0].Smallest != nil
	if search {
		header = append(header, "smallest limit")
	}
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, r := range s.Best() {
		row := table.Row{
			NameOf(r.Settings), r.mark() + r.Range.text(), r.mark() + spec.FormatSize(r.PeakAllocated),
			fmt.Sprintf("%s%.1f%%", r.mark(), 100*r.Fragmentation()),
			r.mark() + strconv.FormatInt(r.Retries, 10),
			r.mark() + strconv.FormatInt(r.DeviceAllocs+r.DeviceFrees, 10),
			r.failureInTable(),
		}
		if search {
			row = append(row, r.Smallest.text())
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// mark stands before what is not certain.
func (r *Row) mark() string {
	if r.Exact() {
		return ""
	}
	return "~"
}

func (r *Row) failureInTable() string {
	switch {
	case r.First != nil:
		return r.mark() + "at request " + strconv.Itoa(r.First.Number)
	case r.Failing > 0:
		return fmt.Sprintf("in %d of %d guesses", r.Failing, r.Runs)
	}
	return r.mark() + "no"
}

// Summary says in one line what a history is.
func (h *History) Summary() string {
	line := fmt.Sprintf("%d requests for memory of device %d", h.Mallocs, h.Device)
	if h.Micros > 0 {
		line += fmt.Sprintf(" in %.1f seconds", float64(h.Micros)/1e6)
	}
	if h.Whole() {
		return line + ", from the beginning."
	}
	return line + fmt.Sprintf("; the beginning is lost. At the start %s is held, %s of it given out.",
		spec.FormatSize(h.reservedAtStart()), spec.FormatSize(h.allocatedAtStart()))
}

func (h *History) reservedAtStart() uint64 {
	sum := uint64(0)
	for i := range h.Start {
		sum += h.Start[i].TotalSize
	}
	return sum
}
