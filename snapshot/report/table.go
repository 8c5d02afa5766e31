package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// WriteJSON writes everything that the page shows.
func WriteJSON(w io.Writer, p *Page) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(p)
}

// WriteCSV writes all call sites of the reports: who holds the memory. Sizes are in bytes.
func WriteCSV(w io.Writer, p *Page) error {
	table := csv.NewWriter(w)
	table.Write([]string{"report", "function", "file", "line", "category", "allocations", "peak bytes", "peak blocks", "out of memory bytes", "end bytes", "end blocks", "most bytes"})
	for _, d := range p.Reports {
		sites := slices.Clone(d.totals)
		slices.SortStableFunc(sites, func(a, b siteTotals) int { return cmp.Compare(b.weight(), a.weight()) })
		for i := range sites {
			s := &sites[i]
			if s.weight() == 0 {
				continue
			}
			row := []string{d.Title, s.function(), s.frame.Filename, strconv.Itoa(s.frame.Line), d.categoryOf(s)}
			for _, n := range []uint64{uint64(s.allocations), s.peak[0], s.peak[1], s.oom[0], s.end[0], s.end[1], s.max} {
				row = append(row, strconv.FormatUint(n, 10))
			}
			for k := range row {
				row[k] = cell(row[k])
			}
			table.Write(row)
		}
	}
	table.Flush()
	return table.Error()
}

// function is the name of a site's function, or what is known instead.
func (s *siteTotals) function() string {
	switch {
	case len(s.frames) > 0:
		return s.frame.Name
	case s.start:
		return "allocated before the history"
	}
	return "no call stack, requests from " + spec.FormatSize(s.size) + " on"
}

// categoryOf is the name of a site's category, "" if no call stacks were recorded.
func (d *Data) categoryOf(s *siteTotals) string {
	if len(d.Categories) == 0 {
		return ""
	}
	return d.categoryName(s.category)
}

// cell is a text that is no formula for a program of tables.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
