package tell

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
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
func (c Answer) Shown(all bool) []*compare.Prediction {
	ranked := c.Ranked()
	if all || len(ranked) <= mostRows {
		return ranked
	}
	type figures struct {
		play.Statistics
		oom int
		r   compare.Range
	}
	figuresOf := func(p *compare.Prediction) figures {
		r, _ := p.PeakReservedRange()
		return figures{p.Statistics, p.OOMRequest(), r}
	}
	shown := map[*compare.Prediction]bool{}
	seen := map[figures]bool{}
	show := func(p *compare.Prediction) {
		if p != nil && len(shown) < mostRows {
			shown[p] = true
			seen[figuresOf(p)] = true
		}
	}
	show(c.Current())
	show(c.Recommended())
	for _, p := range ranked {
		if p.Err == nil && !seen[figuresOf(p)] {
			show(p)
		}
	}
	var list []*compare.Prediction
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
	cell      func(*compare.Prediction) string
}

func (c Answer) columns() []column {
	columns := []column{
		{"", 9, func(p *compare.Prediction) string {
			switch {
			case p == c.Current():
				return "now"
			case p == c.Advised():
				return ">"
			}
			return ""
		}},
		{"settings", 9, nameInTable},
		{"peak reserved", 9, func(p *compare.Prediction) string { return mark(p) + reservedInTable(p) }},
		{"peak allocated", 5, func(p *compare.Prediction) string { return mark(p) + spec.FormatSize(p.Figures().PeakAllocated) }},
		{"unallocated", 3, func(p *compare.Prediction) string {
			return fmt.Sprintf("%s%.1f%%", mark(p), 100*p.Figures().Unallocated())
		}},
		{"alloc retries", 6, func(p *compare.Prediction) string { return mark(p) + strconv.FormatInt(p.Figures().Retries, 10) }},
		{"device allocs+frees", 2, func(p *compare.Prediction) string {
			return mark(p) + strconv.FormatInt(p.Figures().DeviceAllocs+p.Figures().DeviceFrees, 10)
		}},
		{"out of memory", 9, OOMInWords},
	}
	if c.LimitSearch {
		columns = append(columns, column{"smallest limit", 7, smallestLimitInTable})
	}
	return columns
}

// Table is the predictions as text, the best first, as wide as wanted. Statistics that
// are not exact are marked with "~", and peak reserved is then a range.
func (c Answer) Table(o TableOptions) string {
	columns := c.columns()
	settings := max(32, o.Width/3) // columns
	for least := 0; ; least++ {
		var kept []column
		for _, k := range columns {
			if k.important > min(least, 8) {
				kept = append(kept, k)
			}
		}
		if least > 8 { // the columns that are left are narrower
			settings -= 8
		}
		rendered := c.render(kept, o, settings)
		if o.Width <= 0 || text.LongestLineLen(rendered) <= o.Width || settings <= 8 {
			return rendered
		}
	}
}

func (c Answer) render(columns []column, o TableOptions, settings int) string {
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
	if o.Width > 0 { // long settings are broken
		configs = append(configs, table.ColumnConfig{Number: 2, WidthMax: settings, WidthMaxEnforcer: breakSettings})
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
	var lines []string
	for line := range strings.Lines(t.Render()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}

func nameInTable(p *compare.Prediction) string {
	if p.Release != "" {
		return NameOf(p.Settings.Text) + " on PyTorch " + p.Release
	}
	if p.Fraction > 0 {
		return NameOf(p.Settings.Text) + " + fraction"
	}
	return NameOf(p.Settings.Text)
}

func reservedInTable(p *compare.Prediction) string {
	if !p.Told() {
		return "cannot be told"
	}
	return reservedInWords(p)
}

// reservedInWords is the peak reserved, as in the table.
func reservedInWords(p *compare.Prediction) string {
	f := p.Figures()
	if f.Open {
		return spec.FormatSize(f.Reserved.Low) + " or more"
	}
	return joinedRange(f.Reserved.Low, f.Reserved.High)
}

func smallestLimitInTable(p *compare.Prediction) string {
	if p.SmallestLimit == nil || p.SmallestLimit.High == 0 {
		return "cannot be told"
	}
	if low, high := p.SmallestLimit.Low, p.SmallestLimit.High; spec.FormatSizeUp(low) != spec.FormatSizeUp(high) {
		return spec.FormatSizeUp(low) + " to " + spec.FormatSizeUp(high)
	}
	return spec.FormatSizeUp(p.SmallestLimit.High)
}

// mark is put before a statistic that is not exact.
func mark(p *compare.Prediction) string {
	if p.Exact() || p.Err != nil {
		return ""
	}
	return "~"
}

// OOMInWords says whether the program runs out of memory, as the table does.
func OOMInWords(p *compare.Prediction) string {
	switch {
	case p.DependsOnLimit():
		return "below " + spec.FormatSizeUp(p.Fits())
	case p.OpenFailure():
		return "cannot be told"
	case p.FirstOOM != nil:
		return mark(p) + "at request " + strconv.Itoa(p.FirstOOM.Number)
	case p.OOMRuns() > 0:
		return fmt.Sprintf("in %d of %d runs", p.OOMRuns(), len(p.Runs))
	}
	return mark(p) + "no"
}

// Summary describes a workload in one line.
func Summary(w *history.Workload) string {
	line := fmt.Sprintf("%s for memory of device %d", counted(w.Mallocs, "request"), w.Device)
	if w.DurationUS > 0 {
		line += ", recorded over " + durationInWords(w.DurationUS)
	}
	if w.NoEnd {
		return line + "; the trace has no end: it may have been cut off, and what came later is not known."
	}
	if w.Complete() {
		return line + "; the history is complete."
	}
	reserved, _ := history.ReservedBytes(nil, w.InitialSegments)
	return line + fmt.Sprintf("; the beginning of the history is missing, so whether a limit was reached before is not known. At its start %s is reserved, %s of it allocated.",
		spec.FormatSize(reserved), spec.FormatSize(w.AllocatedAtStart()))
}

// durationInWords is a time in seconds, or a short one in milliseconds.
func durationInWords(us int64) string {
	if us < 1e6 {
		return fmt.Sprintf("%.1f milliseconds", float64(us)/1e3)
	}
	return fmt.Sprintf("%.1f seconds", float64(us)/1e6)
}

// breakSettings breaks settings into lines of bounded width: behind commas, what is longer behind
// colons and underscores, and only what has none of these anywhere.
func breakSettings(settings string, columns int) string {
	return breakBehind([]string{",", ":_"}, settings, columns)
}

func breakBehind(separators []string, settings string, columns int) string {
	switch {
	case len(settings) <= columns:
		return settings
	case len(separators) == 0:
		return text.WrapHard(settings, columns)
	}
	var lines []string
	line := ""
	for settings != "" {
		end := strings.IndexAny(settings, separators[0]) + 1
		if end == 0 {
			end = len(settings)
		}
		if line != "" && len(line)+end > columns {
			lines = append(lines, line)
			line = ""
		}
		line, settings = line+settings[:end], settings[end:]
	}
	lines = append(lines, line)
	for i, line := range lines {
		lines[i] = breakBehind(separators[1:], line, columns)
	}
	return strings.Join(lines, "\n")
}

// NameOf is a name for settings: "default" for the empty string.
func NameOf(settings string) string {
	if settings == "" {
		return "default"
	}
	return settings
}
