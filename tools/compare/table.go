package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/spec"
)

// String is the comparison as a table with its notes.
func (c *Comparison) String() string { return c.Text(0) }

// Text is the table and what is to be said of it, on a terminal of so many columns; 0: as wide as it is.
func (c *Comparison) Text(width int) string {
	limit := "without a limit"
	if c.Limit > 0 {
		limit = "on a device of " + spec.FormatSize(c.Limit)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests for memory, at most %s at one time, %s.\n\n%s\n", c.Requests, spec.FormatSize(c.Requested), limit, c.table(width))
	for i := range c.Results {
		if r := &c.Results[i]; r.Error != "" {
			fmt.Fprintf(&b, "\n%s ended early: %s\n", r.Allocator, r.Error)
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintln(&b)
		for line := range strings.Lines(text.WrapSoft(note, noteColumns(width))) {
			fmt.Fprintln(&b, strings.TrimRight(line, " \n"))
		}
	}
	return b.String()
}

// noteColumns are how wide notes are.
func noteColumns(width int) int {
	const most = 100
	if width <= 0 {
		return most
	}
	return min(width, most)
}

// lessImportant are the numbers of the columns that a narrow table leaves out, the first one first.
var lessImportant = []int{4, 5, 6, 3}

func (c *Comparison) table(width int) string {
	for hidden, name := 0, 0; ; {
		rendered := c.render(lessImportant[:hidden], name)
		switch {
		case width <= 0 || text.LongestLineLen(rendered) <= width || name > 0 && name <= 12:
			return rendered
		case hidden < len(lessImportant):
			hidden++
		case name == 0:
			name = 40
		default:
			name -= 4
		}
	}
}

// render leaves columns out, and breaks names of allocators that are longer; 0: does not.
func (c *Comparison) render(hidden []int, name int) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	searched, timed := false, false
	for i := range c.Results {
		searched = searched || c.Results[i].SmallestLimit != nil
		timed = timed || c.Results[i].PerRequest > 0
	}
	header := table.Row{"allocator", "held at most", "of requested", "on average", "driver calls", "retries", "out of memory"}
	if searched {
		header = append(header, "smallest limit")
	}
	if timed {
		header = append(header, "a request takes")
	}
	t.AppendHeader(header)
	columns := []table.ColumnConfig{{Number: 1, WidthMax: name}}
	for n := 2; n <= len(header); n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight, Hidden: slices.Contains(hidden, n)})
	}
	t.SetColumnConfigs(columns)
	for i := range c.Results {
		row := c.Results[i].row(c.Requested)
		if searched {
			limit := "-"
			if s := c.Results[i].SmallestLimit; s != nil {
				limit = spec.FormatSizeUp(*s)
			}
			row = append(row, limit)
		}
		if timed {
			row = append(row, c.Results[i].PerRequest.String())
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (r *Result) row(requested uint64) table.Row {
	of, retries, failed := "-", "-", "no"
	if requested > 0 {
		of = fmt.Sprintf("%.2f", float64(r.Most)/float64(requested))
	}
	if r.Retries != nil {
		retries = fmt.Sprint(*r.Retries)
	}
	if r.OutOfMemory != nil {
		failed = fmt.Sprintf("request %d", r.OutOfMemory.Number)
	}
	return table.Row{r.Allocator, spec.FormatSize(r.Most), of, spec.FormatSize(r.Mean), r.DriverCalls, retries, failed}
}
