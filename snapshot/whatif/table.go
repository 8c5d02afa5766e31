package whatif

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/spec"
)

// TableOptions say how much of the predictions a table shows.
type TableOptions struct {
	All   bool // all predictions; otherwise at most six that matter
	Width int  // columns of the terminal; 0 for no limit
}

// mostRows is how many rows a table has at most, unless all are wanted.
const mostRows = 6

// Shown are the predictions that matter: the recommended and the present one, and the best
// of those whose statistics differ from one shown before.
func (c *Comparison) Shown(all bool) []*Prediction {
	ranked := c.Ranked()
	if all || len(ranked) <= mostRows {
		return ranked
	}
	type figures struct {
		Statistics
		oom int
		r   Range
	}
	shown := map[*Prediction]bool{}
	seen := map[figures]bool{}
	show := func(p *Prediction) {
		if p != nil && len(shown) < mostRows {
			shown[p] = true
			seen[figures{p.Statistics, p.oomRequest(), p.PeakReservedRange}] = true
		}
	}
	show(c.current())
	show(c.Recommended())
	for _, p := range ranked {
		if p.Err == nil && !seen[figures{p.Statistics, p.oomRequest(), p.PeakReservedRange}] {
			show(p)
		}
	}
	var list []*Prediction
	for _, p := range ranked {
		if shown[p] {
			list = append(list, p)
		}
	}
	return list
}

// column is a column of the table. Those that are less important are left out of a narrow
// table.
type column struct {
	header    string
	important int // the larger, the longer it stays
	cell      func(*Prediction) string
}

func (c *Comparison) columns() []column {
	columns := []column{
		{"", 9, func(p *Prediction) string {
			switch {
			case p == c.current():
				return "now"
			case p == c.advised():
				return ">"
			}
			return ""
		}},
		{"settings", 9, (*Prediction).nameInTable},
		{"peak reserved", 9, func(p *Prediction) string { return p.mark() + p.reservedInTable() }},
		{"peak allocated", 5, func(p *Prediction) string { return p.mark() + spec.FormatSize(p.figures().PeakAllocated) }},
		{"unallocated", 3, func(p *Prediction) string { return fmt.Sprintf("%s%.1f%%", p.mark(), 100*p.figures().Unallocated()) }},
		{"alloc retries", 6, func(p *Prediction) string { return p.mark() + strconv.FormatInt(p.figures().Retries, 10) }},
		{"device allocs+frees", 2, func(p *Prediction) string {
			return p.mark() + strconv.FormatInt(p.figures().DeviceAllocs+p.figures().DeviceFrees, 10)
		}},
		{"out of memory", 8, (*Prediction).oomInTable},
	}
	if c.LimitSearch {
		columns = append(columns, column{"smallest limit", 7, (*Prediction).smallestLimitInTable})
	}
	return columns
}

// Table is the predictions as text, the best first, as wide as wanted. Statistics that
// are not exact are marked with "~", and peak reserved is then a range.
func (c *Comparison) Table(o TableOptions) string {
	columns := c.columns()
	for least := 0; ; least++ {
		var kept []column
		for _, k := range columns {
			if k.important > least {
				kept = append(kept, k)
			}
		}
		rendered := c.render(kept, o)
		if o.Width <= 0 || text.LongestLineLen(rendered) <= o.Width || least == 8 {
			return rendered
		}
	}
}

func (c *Comparison) render(columns []column, o TableOptions) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	t.Style().Options.DrawBorder = false
	var header table.Row
	var configs []table.ColumnConfig
	for i, k := range columns {
		header = append(header, k.header)
		if i >= 2 {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	if o.Width > 0 { // long settings are broken, at a comma if there is one
		configs = append(configs, table.ColumnConfig{Number: 2, WidthMax: max(24, o.Width/3), WidthMaxEnforcer: breakAtCommas})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for _, p := range c.Shown(o.All) {
		var row table.Row
		for _, k := range columns {
			if p.Err != nil && k.important < 9 {
				row = append(row, "")
				continue
			}
			row = append(row, k.cell(p))
		}
		t.AppendRow(row)
	}
	return t.Render()
}

func (p *Prediction) nameInTable() string {
	if p.Fraction > 0 {
		return NameOf(p.Settings) + " + fraction"
	}
	return NameOf(p.Settings)
}

func (p *Prediction) reservedInTable() string {
	if p.Err != nil {
		return "cannot be told"
	}
	return p.ReservedInWords()
}

func (p *Prediction) smallestLimitInTable() string {
	switch {
	case p.SmallestLimit == nil || p.SmallestLimit.High == 0:
		return "cannot be told"
	}
	return p.SmallestLimit.text()
}

// mark is put before a statistic that is not exact.
func (p *Prediction) mark() string {
	if p.Exact() || p.Err != nil {
		return ""
	}
	return "~"
}

func (p *Prediction) oomInTable() string {
	switch {
	case p.limitDecides && p.fits > 0:
		return "below " + spec.FormatSize(p.fits)
	case p.FirstOOM != nil:
		return p.mark() + "at request " + strconv.Itoa(p.FirstOOM.Number)
	case p.OOMRuns > 0:
		return fmt.Sprintf("in %d of %d runs", p.OOMRuns, p.Runs)
	}
	return p.mark() + "no"
}

// Summary describes a workload in one line.
func (w *Workload) Summary() string {
	line := fmt.Sprintf("%s for memory of device %d", counted(w.Mallocs, "request"), w.Device)
	if w.DurationUS > 0 {
		line += fmt.Sprintf(", recorded over %.1f seconds", float64(w.DurationUS)/1e6)
	}
	if w.NoEnd {
		return line + "; the trace has no end: it may have been cut off, and what came later is not known."
	}
	if w.Complete() {
		return line + "; the history is complete."
	}
	reserved, _ := reservedBytes(nil, w.InitialSegments)
	return line + fmt.Sprintf("; the beginning of the history is missing. At its start %s is reserved, %s of it allocated.",
		spec.FormatSize(reserved), spec.FormatSize(w.allocatedAtStart()))
}

// breakAtCommas breaks settings into lines of at most so many columns, behind commas.
func breakAtCommas(settings string, columns int) string {
	var lines []string
	line := ""
	for part := range strings.SplitAfterSeq(settings, ",") {
		if line != "" && len(line)+len(part) > columns {
			lines = append(lines, line)
			line = ""
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}
