package errortext

import (
	"regexp"
	"strconv"
)

const cell = `(\d+(?:\.\d+)?) *([KMGTPE]i?B|B)?`

var (
	table  = regexp.MustCompile(`PyTorch CUDA memory summary, device ID (\d+)`)
	rows   = regexp.MustCompile(`\| *(Allocated memory|Active memory|GPU reserved memory|Non-releasable memory) *\| *` + cell)
	counts = regexp.MustCompile(`CUDA OOMs: (\d+).*?cudaMalloc retries: (\d+)`)
)

// findSummary reads the last table of memory_summary in a text, nil if there is none.
func findSummary(text string) *Message {
	found := table.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	m := &Message{Kind: Summary, Backend: "CUDA", Times: len(found)}
	m.Device, _ = strconv.Atoi(text[last[2]:last[3]])
	body := text[last[0]:]
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
