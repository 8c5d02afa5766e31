package errortext

import (
	"regexp"
	"slices"
	"strconv"
)

const cell = `(\d+(?:\.\d+)?) *([KMGTPE]i?B|B)\b`

var (
	table  = regexp.MustCompile(`PyTorch CUDA memory summary, device ID (\d+)`)
	rows   = regexp.MustCompile(`\| *(Allocated memory|Active memory|GPU reserved memory|Non-releasable memory) *\| *` + cell)
	counts = regexp.MustCompile(`CUDA OOMs: (\d+).*?cudaMalloc retries: (\d+)`)
)

// findSummary reads the last table of memory_summary in a text that has the rows that are needed,
// nil if there is none.
func findSummary(text string) *Message {
	found, end := table.FindAllStringSubmatchIndex(text, -1), len(text)
	for _, at := range slices.Backward(found) {
		m := readSummary(text[at[0]:end])
		if m != nil {
			m.Times, m.tables = 1, len(found)
			m.Device, _ = strconv.Atoi(text[at[2]:at[3]])
			return m
		}
		end = at[0]
	}
	return nil
}

// readSummary reads a table; nil if rows are missing.
func readSummary(body string) *Message {
	m := &Message{Kind: Summary, Backend: "CUDA"}
	values := map[string]*Size{}
	for _, r := range rows.FindAllStringSubmatch(body, -1) {
		if values[r[1]] == nil {
			values[r[1]] = parseSize(r[2], binaryUnit(r[3]))
		}
	}
	if c := counts.FindStringSubmatch(body); c != nil {
		m.OOMs, _ = strconv.Atoi(c[1])
		m.Retries, _ = strconv.Atoi(c[2])
	}
	if m.Allocated = values["Allocated memory"]; m.Allocated == nil || values["GPU reserved memory"] == nil {
		return nil
	}
	m.Cached = difference(values["GPU reserved memory"], m.Allocated)
	if cut, active := values["Non-releasable memory"], values["Active memory"]; cut != nil && active != nil {
		m.CachedWhole = difference(difference(values["GPU reserved memory"], active), cut)
	}
	return m
}

// binaryUnit is a unit of a table: those before 2.0 call MiB MB.
func binaryUnit(unit string) string {
	if len(unit) == 2 {
		return unit[:1] + "iB"
	}
	return unit
}
