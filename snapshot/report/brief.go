package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot/compare"
	"gaugeblock/spec"
)

// The three lines of two snapshots, of ranks and of iterations. Their verdicts have the same sizes.

// Briefs are the three lines of everything that a page shows at first, in its order.
func (p *Page) Briefs() (list []brief.Lines) {
	if p.Iterations != nil {
		list = append(list, p.Iterations.Brief)
	}
	switch {
	case p.Compared != nil:
		return append(list, p.Compared.Brief)
	case p.Ranks != nil && len(p.Ranks.List) > 1:
		return append(list, p.Ranks.Brief)
	}
	if shown := p.Reports[p.Shown].Brief; len(list) == 0 && shown != nil {
		list = append(list, *shown)
	}
	return list
}

// notCompared stands for advice about a report without a comparison of settings.
const notCompared = "other settings were not compared"

func (d *Data) failed() bool { return d.Summary.OOMs > 0 }

// try is what the report of a device advises.
func (d *Data) try() string {
	if d.Brief == nil {
		return notCompared
	}
	return d.Brief.Try
}

// cause is the cause of a failure in one or two words, "" if it is not known.
func (d *Data) cause() string {
	if !d.failed() || d.WhatIf == nil {
		return ""
	}
	return map[compare.Cause]string{
		compare.Fragmentation: "fragmentation", compare.Shortage: "a true shortage", compare.PoolCause: "private pools", compare.OtherProcess: "another process",
	}[compare.Cause(d.WhatIf.Cause)]
}

// brief is which of two snapshots ran out of memory, what changed, and what to do about it.
func (c *Compared) brief(a, b *Data) brief.Lines {
	happened := func(nameA, nameB, than string) string { return c.happenedInBrief(a, b, nameA, nameB, than) }
	lines := brief.Lines{Happened: brief.Headline(happened(c.A, c.B, c.A), happened(c.A, c.B, ""), happened("the first", "the second", "the first"), happened("the first", "the second", ""))}
	switch inA, inB := a.cause(), b.cause(); {
	case inA == "" && inB == "":
		lines.Diff = c.diffInBrief(a, b, "")
	case inA == "" || inB == "" || inA == inB:
		cause := cmp.Or(inB, inA)
		if lines.Cause = c.diffInBrief(a, b, cause); lines.Cause == cause { // there is room for its reason
			failed := b
			if inB == "" {
				failed = a
			}
			lines.Cause = failed.Brief.Cause
		}
	default:
		lines.Cause = c.diffInBrief(a, b, fmt.Sprintf("%s in the first, %s in the second", inA, inB))
	}
	lines.Try = c.tryInBrief(a, b)
	return lines.Fit()
}

// happenedInBrief calls the two by these names, and the first one once more at the end, if there is room.
func (c *Compared) happenedInBrief(a, b *Data, nameA, nameB, than string) string {
	outcome := "Neither ran out of memory: " + nameB
	switch inA, inB := a.failed(), b.failed(); {
	case inA && inB:
		outcome = "Both ran out of memory: " + nameB
	case inA: // its peak ends where it failed: it is not compared
		return fmt.Sprintf("Only %s ran out of memory: %s did not, with %s allocated at its peak", nameA, nameB, spec.FormatSize(b.Summary.PeakAllocated))
	case inB:
		outcome = fmt.Sprintf("Only %s ran out of memory: it", nameB)
	}
	change, by := int64(b.Summary.PeakAllocated-a.Summary.PeakAllocated), "as much as "
	switch {
	case change > 0:
		by = spec.FormatSize(uint64(change)) + " more than "
	case change < 0:
		by = spec.FormatSize(uint64(-change)) + " less than "
	}
	if than == "" {
		by = by[:strings.LastIndexByte(by[:len(by)-1], ' ')] // without the last word
	}
	return fmt.Sprintf("%s has %s allocated at its peak, %s", outcome, spec.FormatSize(b.Summary.PeakAllocated), by+than)
}

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// diffInBrief is, behind a cause, the settings, if they changed, and the call site that changed most.
func (c *Compared) diffInBrief(a, b *Data, cause string) string {
	sites := []string{"no call site changed noticeably"}
	switch r := c.changed(a, b); {
	case len(r) > 0:
		short := c.nameInBrief(r[0]) + " " + r[0].verb() + " by " + spec.FormatSize(uint64(abs(r[0].change())))
		sites = []string{fmt.Sprintf("%s, from %s to %s", short, spec.FormatSize(r[0].A[0]), spec.FormatSize(r[0].B[0])), short}
	case hasFrames(a.totals) != hasFrames(b.totals):
		sites[0] = "call sites cannot be compared: only one was recorded with call stacks"
	}
	settings := []string{""}
	if before, after := settingsInText(&a.Summary), settingsInText(&b.Summary); before != after {
		settings = []string{"from " + before + " to " + after, "the settings changed"}
	}
	var forms []string
	join := func(parts ...string) {
		forms = append(forms, strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; "))
	}
	for _, changed := range settings {
		for _, site := range sites {
			join(cause, changed, site)
		}
	}
	for _, changed := range settings {
		join(cause, changed)
	}
	join(cause)
	return brief.FirstThatFits(forms...)
}

// nameInBrief is the file and line of a call site.
func (c *Compared) nameInBrief(r *ComparedSite) string {
	if r.Stack == noStack {
		return lower(c.siteInText(r))
	}
	return c.Stacks.place(r.Stack)
}

// place is the file, without folders, and the line of a call stack's own frame.
func (s *stacks) place(stack int) string {
	f := &s.Frames[s.Own[stack]]
	return fmt.Sprintf("%s:%d", path.Base(f.Filename), f.Line)
}

func (c *Compared) tryInBrief(a, b *Data) string {
	grown := slices.IndexFunc(c.changed(a, b), func(r *ComparedSite) bool { return r.change() > 0 && r.Stack != noStack })
	switch changed := settingsInText(&a.Summary) != settingsInText(&b.Summary); {
	case b.failed():
		return b.try()
	case a.failed() && changed:
		const others = "with which no request of the second failed"
		return brief.FirstThatFits("keep "+settingsInText(&b.Summary)+", "+others, "keep its settings, "+others)
	case a.failed():
		return "nothing: no request failed in the second"
	case grown >= 0:
		return "look first at " + c.nameInBrief(c.changed(a, b)[grown])
	}
	return b.try()
}

// brief is which rank is worst and why, or how uneven the ranks are.
func (r *RankBuilder) brief(c *Compared, worst *Data, byAllocated []int) brief.Lines {
	n, w, title := len(r.list), &worst.Summary, r.reports[r.Worst()].Title
	failed := r.failed()
	if failed > 0 {
		of := fmt.Sprintf("%%s of %d: out of memory", n)
		if failed > 1 {
			of = fmt.Sprintf("%d of %d ranks ran out of memory, %%s", failed, n)
		}
		lines := brief.Lines{Happened: worst.failureBehind(of, title, "the worst"), Try: worst.try()}
		if worst.Brief != nil {
			lines.Cause = worst.Brief.Cause
		}
		return lines.Fit()
	}
	happened := fmt.Sprintf("No rank of %d ran out of memory: %%s reserves most, %s, and has %s allocated", n, spec.FormatSize(w.PeakReserved), spec.FormatSize(w.PeakAllocated))
	lines := brief.Lines{Happened: brief.Headline(fmt.Sprintf(happened, title), fmt.Sprintf(happened, "the worst")), Peak: r.unevenInBrief(byAllocated), Try: worst.try()}
	if c == nil {
		return lines.Fit()
	}
	for i := range c.lines {
		if row := &c.lines[i]; row.change() > 0 && row.Stack != noStack && row.noticeable(w.PeakAllocated) {
			lines.Try = "look first at " + c.Stacks.place(row.Stack)
			lines.Try = brief.FirstThatFits(fmt.Sprintf("%s: %s on %s, %s on %s", lines.Try, spec.FormatSize(row.B[0]), c.B, spec.FormatSize(row.A[0]), c.A), lines.Try)
			break
		}
	}
	return lines.Fit()
}

// unevenInBrief says how far the ranks, which are sorted, are apart.
func (r *RankBuilder) unevenInBrief(sorted []int) string {
	allocated := func(s *Summary) uint64 { return s.PeakAllocated }
	first, last := sorted[0], sorted[len(sorted)-1]
	least, most := spec.FormatSize(r.list[first].Summary.PeakAllocated), spec.FormatSize(r.list[last].Summary.PeakAllocated)
	if least == most {
		return most + " allocated on all of them"
	}
	above := ", the largest " + r.aboveMedian(sorted, allocated) + " above the median"
	return brief.FirstThatFits(fmt.Sprintf("allocated from %s (%s) to %s (%s)%s", least, r.reports[first].Title, most, r.reports[last].Title, above),
		fmt.Sprintf("allocated from %s to %s%s", least, most, above))
}

// failureBehind puts a name into an outcome, and behind it, as far as it fits, what failed where.
func (d *Data) failureBehind(outcome string, names ...string) string {
	tail := ""
	if d.Brief != nil {
		if behind, found := strings.CutPrefix(d.Brief.Happened, "Out of memory"); found {
			tail = behind
		}
	}
	var forms []string
	for _, name := range names {
		first := fmt.Sprintf(outcome, name)
		first = strings.ToUpper(first[:1]) + first[1:]
		for rest := tail; ; {
			forms = append(forms, first+rest)
			at := strings.LastIndex(rest, ", ")
			if at < 0 {
				break
			}
			rest = rest[:at]
		}
		forms = append(forms, first)
	}
	return brief.Headline(forms...)
}

// brief is whether memory grows from iteration to iteration, and where.
func (it *Iterations) brief(whole int, worst *Data) brief.Lines {
	at, n := &it.List[it.Shown], english.Plural(len(it.List), "iteration", "")
	growth := ""
	leak := slices.IndexFunc(it.Growth, func(s GrowingSite) bool { return s.Steady })
	if leak >= 0 {
		growth = it.growthInBrief(&it.Growth[leak])
	}
	var lines brief.Lines
	switch two := whole == 2 && len(it.Growth) > 0; {
	case leak >= 0:
		lines.Happened = fmt.Sprintf("Memory of %s grows from iteration to iteration; no request failed in %s", it.Rank, n)
		const keeps = "find what keeps the memory%s from one iteration to the next"
		lines.Try = brief.FirstThatFits(fmt.Sprintf(keeps, " of "+it.placeOf(&it.Growth[leak])), fmt.Sprintf(keeps, ""))
	case whole < 2:
		lines.Happened = fmt.Sprintf("No request failed in %s; whether memory grows cannot be told", n)
		lines.Try = "snapshots at the end of three iterations or more: these do not tell whether memory grows"
	case two:
		lines.Happened = fmt.Sprintf("No request failed in %s; whether memory grows cannot be told from two", n)
		growth, lines.Try = it.growthInBrief(&it.Growth[0]), "a third snapshot: two do not tell whether that goes on"
	default:
		lines.Happened = fmt.Sprintf("No request failed in %s, and memory of %s does not grow from each to the next", n, it.Rank)
		lines.Try = worst.try()
	}
	if at.Summary.OOMs == 0 {
		lines.Happened, lines.Diff = brief.Headline(lines.Happened, strings.ReplaceAll(lines.Happened, it.Rank, "a rank")), growth
		return lines.Fit()
	}
	lines.Happened = worst.failureBehind("%s: out of memory", at.Name+", "+at.Worst, at.Name)
	if leak < 0 {
		lines.Try = worst.try()
	}
	switch cause := worst.cause(); {
	case leak < 0 && worst.Brief != nil:
		lines.Cause = worst.Brief.Cause
	case cause == "" || leak < 0:
		lines.Diff = growth
	default:
		lines.Cause = brief.FirstThatFits(cause+"; "+growth, cause)
	}
	return lines.Fit()
}

func (it *Iterations) placeOf(s *GrowingSite) string {
	if s.Stack == noStack {
		return lower(it.Stacks.siteInText(s.Stack, s.Start, s.Size))
	}
	return it.Stacks.place(s.Stack)
}

func (it *Iterations) growthInBrief(s *GrowingSite) string {
	by := fmt.Sprintf("%s: %s more each iteration", it.placeOf(s), spec.FormatSize(uint64(s.Slope)))
	return brief.FirstThatFits(by+fmt.Sprintf(", from %s to %s", spec.FormatSize(s.AtEnd[0]), spec.FormatSize(s.AtEnd[len(s.AtEnd)-1])), by)
}
