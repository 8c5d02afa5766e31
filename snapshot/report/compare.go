package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/brief"
	"gaugeblock/spec"
)

// maxCompared is how many call sites are compared on a page.
const maxCompared = 60

// Compared is two snapshots side by side: what each call site holds at the peak.
type Compared struct {
	A       string         `json:"a"` // names
	B       string         `json:"b"`
	Brief   brief.Lines    `json:"brief"`
	Verdict string         `json:"verdict"`
	Rows    []ComparedSite `json:"rows"` // the largest change first
	More    int            `json:"more"`
	Stacks  stacks         `json:"stacks"`

	lines []ComparedSite // the three that changed most, whatever the category
}

// ComparedSite is a call site in two snapshots.
type ComparedSite struct {
	Stack    int     `json:"stack"` // index into Compared.Stacks; -1: none was recorded
	Size     uint64  `json:"size"`  // as in Site
	Start    bool    `json:"start"`
	Category string  `json:"category"`
	Lines    [2]int  `json:"lines"` // in the first and the second file; different if the code moved
	A        Holding `json:"a"`     // at the peak of allocated memory
	B        Holding `json:"b"`
	EndA     Holding `json:"endA"`
	EndB     Holding `json:"endB"`
}

// more reports whether the second one has more at the call site, at its peak or at its end.
func (c *ComparedSite) more() bool { return c.B[0] > c.A[0] || c.EndB[0] > c.EndA[0] }

func (c *ComparedSite) change() int64 { return int64(c.B[0] - c.A[0]) }

// comparedKey is equal for sites that are the same in two snapshots.
type comparedKey struct {
	file, function string
	line           int
	size           uint64
	start          bool
	category       category
}

// keyOfSite leaves out the folders, since the two may come from different machines.
func keyOfSite(s *siteTotals) comparedKey {
	folder, file := path.Split(strings.ReplaceAll(s.frame.Filename, `\`, "/"))
	key := comparedKey{path.Join(path.Base(folder), file), s.frame.Name, s.frame.Line, s.size, s.start, s.category}
	if s.frames == nil {
		key.category = uncategorized // the other one may have no call stacks at all
	}
	return key
}

// pair is a site in both snapshots; nil where it is missing.
type pair struct{ a, b *siteTotals }

// Compare compares two reports by call site.
func Compare(a, b *Data) *Compared {
	return compareReports(a, b, func(*ComparedSite) bool { return true })
}

// compareReports keeps the call sites that are wanted.
func compareReports(a, b *Data, wanted func(*ComparedSite) bool) *Compared {
	c := &Compared{A: a.Title, B: b.Title, Rows: []ComparedSite{}, Stacks: newStacks(4)}
	pairs := pairSites(a.totals, b.totals)
	rows := make([]ComparedSite, 0, len(pairs))
	for _, p := range pairs {
		of, in := p.b, b
		if of == nil {
			of, in = p.a, a
		}
		row := ComparedSite{Stack: noStack, Size: of.size, Start: of.start, Category: in.categoryName(of.category), Lines: [2]int{of.frame.Line, of.frame.Line}}
		if p.a != nil {
			row.A, row.EndA, row.Lines[0] = p.a.peak, p.a.end, p.a.frame.Line
		}
		if p.b != nil {
			row.B, row.EndB, row.Lines[1] = p.b.peak, p.b.end, p.b.frame.Line
		}
		rows = append(rows, row)
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(abs(rows[j].change()), abs(rows[i].change())) })
	for _, i := range order {
		if rows[i].A[0] == 0 && rows[i].B[0] == 0 && rows[i].EndA[0] == 0 && rows[i].EndB[0] == 0 || !wanted(&rows[i]) {
			continue
		}
		if len(c.Rows) == maxCompared {
			c.More++
			continue
		}
		of := pairs[i].b
		if of == nil {
			of = pairs[i].a
		}
		rows[i].Stack = c.Stacks.add(of.frames)
		c.Rows = append(c.Rows, rows[i])
	}
	c.lines = c.joinLines(pairs, wanted)
	c.Brief, c.Verdict = c.brief(a, b), c.verdict(a, b)
	return c
}

// joinLines adds up the sites of one line that differ in their category, and returns the three that changed most.
func (c *Compared) joinLines(pairs []pair, wanted func(*ComparedSite) bool) []ComparedSite {
	at := map[comparedKey]int{}
	var rows []ComparedSite
	var of []*siteTotals
	for _, p := range pairs {
		site := cmp.Or(p.b, p.a)
		key := keyOfSite(site)
		key.category = uncategorized
		i, known := at[key]
		if !known {
			i = len(rows)
			at[key] = i
			rows, of = append(rows, ComparedSite{Stack: noStack, Size: site.size, Start: site.start}), append(of, site)
		}
		if row := &rows[i]; p.a != nil {
			row.A.add(p.a.peak)
			row.EndA.add(p.a.end)
		}
		if row := &rows[i]; p.b != nil {
			row.B.add(p.b.peak)
			row.EndB.add(p.b.end)
		}
	}
	order := make([]int, 0, len(rows))
	for i := range rows {
		if wanted(&rows[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(abs(rows[j].change()), abs(rows[i].change())) })
	var most []ComparedSite
	for _, i := range order[:min(3, len(order))] {
		rows[i].Stack = c.Stacks.add(of[i].frames)
		most = append(most, rows[i])
	}
	return most
}

func abs(n int64) int64 { return max(n, -n) }

// pairSites finds the sites of a in b: those of the same line, and then, of one function, a
// site that only a has with one that only b has, if there is one of each.
func pairSites(a, b []siteTotals) []pair {
	var pairs []pair
	at := map[comparedKey]int{}
	a, b = joinCategories(a), joinCategories(b)
	for i := range a {
		key := keyOfSite(&a[i])
		if _, known := at[key]; !known { // else the folders alone differ
			at[key] = len(pairs)
		}
		pairs = append(pairs, pair{a: &a[i]})
	}
	for i := range b {
		j, known := at[keyOfSite(&b[i])]
		if known && pairs[j].b == nil {
			pairs[j].b = &b[i]
			continue
		}
		pairs = append(pairs, pair{b: &b[i]})
	}
	return joinMoved(pairs)
}

// joinCategories adds up the sites without call stack that differ in their category alone.
func joinCategories(sites []siteTotals) []siteTotals {
	var joined []siteTotals
	at := map[comparedKey]int{}
	for i := range sites {
		s := sites[i]
		key := keyOfSite(&s)
		j, known := at[key]
		if s.frames != nil || !known {
			at[key] = len(joined)
			joined = append(joined, s)
			continue
		}
		joined[j].category = uncategorized
		joined[j].peak.add(s.peak)
		joined[j].end.add(s.end)
	}
	return joined
}

// joinMoved joins the sites of lines that moved.
func joinMoved(pairs []pair) []pair {
	type alone struct{ a, b []int }
	functions := map[comparedKey]*alone{}
	for i, p := range pairs {
		of := p.a
		if p.a != nil && p.b != nil || of == nil && p.b == nil {
			continue
		}
		if of == nil {
			of = p.b
		}
		key := keyOfSite(of)
		key.line = 0
		if functions[key] == nil {
			functions[key] = &alone{}
		}
		if p.a != nil {
			functions[key].a = append(functions[key].a, i)
		} else {
			functions[key].b = append(functions[key].b, i)
		}
	}
	for _, f := range functions { // the order does not matter: each changes its own pairs
		if len(f.a) == 1 && len(f.b) == 1 {
			pairs[f.a[0]].b = pairs[f.b[0]].b
			pairs[f.b[0]] = pair{}
		}
	}
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.a == nil && p.b == nil })
}

// verdict says in a few sentences what grew.
func (c *Compared) verdict(a, b *Data) string {
	change := int64(b.Summary.PeakAllocated - a.Summary.PeakAllocated)
	text := c.outcomes(a, b)
	if before, after := settingsInText(&a.Summary), settingsInText(&b.Summary); before != after {
		text = fmt.Sprintf("The settings changed: %s has %s, and %s has %s. ", c.A, before, c.B, after) + text
	}
	text += fmt.Sprintf("At its peak %s has %s allocated, %s.", c.B, spec.FormatSize(b.Summary.PeakAllocated), changeOf(change, a.Summary.PeakAllocated, c.A))
	reserved := int64(b.Summary.PeakReserved - a.Summary.PeakReserved)
	text += fmt.Sprintf(" It has %s reserved, %s.", spec.FormatSize(b.Summary.PeakReserved), changeOf(reserved, a.Summary.PeakReserved, c.A))
	if change <= 0 && reserved > int64(a.Summary.PeakReserved/50) {
		text += " More is reserved though no more is allocated: that is fragmentation or cache."
	}
	for _, r := range c.changed(a, b) {
		text += fmt.Sprintf(" %s %s by %s, from %s to %s.", c.siteInText(r), r.verb(), spec.FormatSize(uint64(abs(r.change()))), spec.FormatSize(r.A[0]), spec.FormatSize(r.B[0]))
	}
	if hasFrames(a.totals) != hasFrames(b.totals) {
		text += " Only one of the two was recorded with call stacks, so their call sites cannot be compared."
	}
	return shortenEnd(text, maxNote)
}

// changed are the call sites that changed most, at most three.
func (c *Compared) changed(a, b *Data) (list []*ComparedSite) {
	for i := range c.lines {
		if !c.lines[i].noticeable(max(a.Summary.PeakAllocated, b.Summary.PeakAllocated)) {
			break
		}
		list = append(list, &c.lines[i])
	}
	return list
}

// noticeable: a change of less than a 200th of the peak is not worth a sentence.
func (c *ComparedSite) noticeable(peak uint64) bool {
	return spec.FormatSize(c.A[0]) != spec.FormatSize(c.B[0]) && uint64(abs(c.change())) >= peak/200
}

func (c *ComparedSite) verb() string {
	if c.change() < 0 {
		return "shrank"
	}
	return "grew"
}

// outcomes says which of the two ran out of memory, "" if none did.
func (c *Compared) outcomes(a, b *Data) string {
	failed := func(d *Data) string {
		return english.Plural(d.Summary.OOMs, "request", "") + " failed"
	}
	switch inA, inB := a.Summary.OOMs > 0, b.Summary.OOMs > 0; {
	case inA && inB:
		return fmt.Sprintf("Both ran out of memory (%s: %s; %s: %s). ", c.A, failed(a), c.B, failed(b))
	case inA:
		return fmt.Sprintf("%s ran out of memory (%s), and %s did not. ", c.A, failed(a), c.B)
	case inB:
		return fmt.Sprintf("%s ran out of memory (%s), and %s did not. ", c.B, failed(b), c.A)
	}
	return ""
}

// settingsInText are the settings of a run in a sentence.
func settingsInText(s *Summary) string {
	if s.Settings == "" {
		return "the default settings"
	}
	return s.Settings
}

func hasFrames(sites []siteTotals) bool {
	return slices.ContainsFunc(sites, func(s siteTotals) bool { return s.frames != nil })
}

func changeOf(change int64, of uint64, name string) string {
	switch {
	case change == 0:
		return "as " + name
	case change < 0:
		return fmt.Sprintf("%s less than %s%s", spec.FormatSize(uint64(-change)), name, share(-change, of))
	}
	return fmt.Sprintf("%s more than %s%s", spec.FormatSize(uint64(change)), name, share(change, of))
}

func share(part int64, of uint64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f\u00a0%%)", 100*float64(part)/float64(of))
}

// siteInText names a site in a sentence.
func (c *Compared) siteInText(s *ComparedSite) string {
	return c.Stacks.siteInText(s.Stack, s.Start, s.Size)
}

func (s *stacks) siteInText(stack int, start bool, bytes uint64) string {
	switch {
	case stack != noStack:
		return fmt.Sprintf("%s (%s)", s.Frames[s.Own[stack]].Name, s.place(stack))
	case start:
		return "What was allocated before the history"
	}
	return fmt.Sprintf("Allocations of %s to %s without call stack", spec.FormatSize(bytes), spec.FormatSize(2*bytes))
}
