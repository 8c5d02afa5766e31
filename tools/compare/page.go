package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"gaugeblock/spec"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// The chart's size, in units of its own.
const chartWidth, chartHeight = 960, 320

// line is an allocator's line in the chart.
type line struct {
	Name   string
	Color  int // of page.html
	Points string
}

// WritePage writes the comparison as an HTML page that loads nothing and runs no script.
func (c *Comparison) WritePage(to io.Writer, source string) error {
	most := uint64(1)
	for i := range c.Results {
		most = max(most, c.Results[i].Most)
	}
	var lines []line
	for i := range c.Results {
		lines = append(lines, line{c.Results[i].Allocator, i % 8, points(c.Results[i].OverTime, most)})
	}
	return pageTemplate.Execute(to, map[string]any{
		"Source": source, "Text": c.String(), "Lines": lines, "Width": chartWidth, "Height": chartHeight, "Most": spec.FormatSize(most),
	})
}

// points are the corners of a line of steps.
func points(overTime []uint64, most uint64) string {
	var b strings.Builder
	for i, held := range overTime {
		y := chartHeight - float64(held)/float64(most)*chartHeight
		left, right := float64(i)*chartWidth/float64(len(overTime)), float64(i+1)*chartWidth/float64(len(overTime))
		fmt.Fprintf(&b, "%.1f,%.1f %.1f,%.1f ", left, y, right, y)
	}
	return b.String()
}
