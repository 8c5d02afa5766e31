package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"gaugeblock/spec"
)

// maxRanks is how many ranks a page lists.
const maxRanks = 1000

// maxSitesOfRank is how many call sites of a rank are kept, those that hold the most.
const maxSitesOfRank = 500

// Ranks are the snapshots of the ranks of a distributed run.
type Ranks struct {
	Verdict string    `json:"verdict"`
	List    []Rank    `json:"list"`    // by number
	Worst   int       `json:"worst"`   // index into List: out of memory, or else the most reserved memory
	Middle  int       `json:"middle"`  // index of the rank with the median of the peak allocated
	More    int       `json:"more"`    // ranks that are not listed
	Against *Compared `json:"against"` // the middle one with the worst; nil if there is one rank
}

// Rank is one rank.
type Rank struct {
	Name     string  `json:"name"`   // of the file
	Number   int     `json:"number"` // -1: the name has none
	Device   int     `json:"device"`
	Summary  Summary `json:"summary"`
	AtEnd    uint64  `json:"atEnd"` // allocated
	Segments int     `json:"segments"`
}

// RankBuilder adds up the ranks of a run, one after the other. Of a snapshot it keeps what
// its largest call sites hold.
type RankBuilder struct {
	list    []Rank
	reports []*Data // by index in list; only what Compare needs
}

// Add adds the report of a rank. Name is that of the file.
func (r *RankBuilder) Add(name string, d *Data) {
	end := d.moment("end")
	r.list = append(r.list, Rank{
		Name: shorten(name), Number: rankOf(name), Device: d.Device, Summary: d.Summary,
		AtEnd: end.Allocated, Segments: len(end.Segments) + end.LeftOut,
	})
	totals := slices.Clone(d.totals)
	slices.SortStableFunc(totals, func(a, b siteTotals) int { return cmp.Compare(b.weight(), a.weight()) })
	totals = slices.Clone(totals[:min(len(totals), maxSitesOfRank)])
	for i := range totals {
		totals[i].series = nil
	}
	r.reports = append(r.reports, &Data{Title: RankTitle(name), Summary: d.Summary, totals: totals})
}

// Len is how many ranks were added.
func (r *RankBuilder) Len() int { return len(r.list) }

// Worst is the index of the worst rank that was added: one that ran out of memory, or else
// the one with the most reserved memory.
func (r *RankBuilder) Worst() int {
	worst := 0
	for i := range r.list {
		if compareRanks(&r.list[i], &r.list[worst]) > 0 {
			worst = i
		}
	}
	return worst
}

func compareRanks(a, b *Rank) int {
	return cmp.Or(
		cmp.Compare(min(a.Summary.OOMs, 1), min(b.Summary.OOMs, 1)),
		cmp.Compare(a.Summary.PeakReserved, b.Summary.PeakReserved),
		cmp.Compare(a.Summary.PeakAllocated, b.Summary.PeakAllocated),
	)
}

// Ranks is what the page shows of all ranks.
func (r *RankBuilder) Ranks() *Ranks {
	order := make([]int, len(r.list)) // by number, then name
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(r.list[i].Number, r.list[j].Number), cmp.Compare(r.list[i].Name, r.list[j].Name))
	})
	byAllocated := slices.Clone(order)
	slices.SortStableFunc(byAllocated, func(i, j int) int {
		return cmp.Compare(r.list[i].Summary.PeakAllocated, r.list[j].Summary.PeakAllocated)
	})
	worst, middle := r.Worst(), r.middle(byAllocated)
	shown := &Ranks{List: []Rank{}, More: max(0, len(order)-maxRanks)}
	for _, i := range order {
		if len(shown.List) >= maxRanks && i != worst && i != middle {
			continue
		}
		if i == worst {
			shown.Worst = len(shown.List)
		}
		if i == middle {
			shown.Middle = len(shown.List)
		}
		shown.List = append(shown.List, r.list[i])
	}
	if worst != middle {
		shown.Against = Compare(r.reports[middle], r.reports[worst])
	}
	shown.Verdict = r.verdict(worst, byAllocated)
	return shown
}

// middle is the rank with the median of the peak allocated, or if that is the worst one the
// rank beside it that is more like it.
func (r *RankBuilder) middle(byAllocated []int) int {
	at := len(byAllocated) / 2
	middle := byAllocated[at]
	if middle != r.Worst() {
		return middle
	}
	distance := func(i int) int64 {
		return abs(int64(r.list[i].Summary.PeakAllocated - r.list[middle].Summary.PeakAllocated))
	}
	beside := byAllocated[max(at-1, 0):at]
	if above := byAllocated[at+1:]; len(beside) == 0 || len(above) > 0 && distance(above[0]) < distance(beside[0]) {
		beside = above
	}
	if len(beside) == 0 {
		return middle // there is no other
	}
	return beside[0]
}

// verdict says which rank is worst, and how uneven the ranks are.
func (r *RankBuilder) verdict(worst int, byAllocated []int) string {
	w := &r.list[worst]
	text := fmt.Sprintf("Of %d ranks %s is the worst: ", len(r.list), r.reports[worst].Title)
	if len(r.list) == 1 {
		text = "There is one rank: "
	}
	failed := 0
	for i := range r.list {
		failed += min(r.list[i].Summary.OOMs, 1)
	}
	switch {
	case failed > 1:
		text += fmt.Sprintf("it and %d more ran out of memory, with ", failed-1)
	case failed == 1:
		text += "it ran out of memory, with "
	}
	text += fmt.Sprintf("%s allocated and %s reserved at its peaks.", spec.FormatSize(w.Summary.PeakAllocated), spec.FormatSize(w.Summary.PeakReserved))
	if len(r.list) == 1 {
		return text
	}
	byReserved := slices.Clone(byAllocated)
	slices.SortStableFunc(byReserved, func(i, j int) int {
		return cmp.Compare(r.list[i].Summary.PeakReserved, r.list[j].Summary.PeakReserved)
	})
	text += r.spread("allocated", byAllocated, func(s *Summary) uint64 { return s.PeakAllocated })
	text += r.spread("reserved", byReserved, func(s *Summary) uint64 { return s.PeakReserved })
	allocated := r.list[byAllocated[len(byAllocated)/2]].Summary.PeakAllocated
	reserved := r.list[byReserved[len(byReserved)/2]].Summary.PeakReserved
	if w.Summary.PeakAllocated <= allocated+allocated/50 && w.Summary.PeakReserved > reserved+reserved/20 {
		text += " The worst rank does not allocate more than the median: what it has more is reserved and not allocated, which is fragmentation or cache."
	}
	return text
}

// spread says how far the ranks, which are sorted, are apart.
func (r *RankBuilder) spread(name string, sorted []int, peak func(*Summary) uint64) string {
	of := func(i int) uint64 { return peak(&r.list[sorted[i]].Summary) }
	last := len(sorted) - 1
	least, most, median := of(0), of(last), of(len(sorted)/2)
	if least == most {
		return fmt.Sprintf(" The peak %s is %s on all of them.", name, spec.FormatSize(most))
	}
	return fmt.Sprintf(" The peak %s is from %s (%s) to %s (%s), the largest %.1f\u00a0%% above the median.", name,
		spec.FormatSize(least), r.reports[sorted[0]].Title, spec.FormatSize(most), r.reports[sorted[last]].Title, 100*(float64(most)/float64(max(median, 1))-1))
}

var (
	rankInName   = regexp.MustCompile(`(?i)rank[^0-9a-z]{0,2}([0-9]{1,9})`)
	numberInName = regexp.MustCompile(`[0-9]{1,9}`)
)

// rankOf is the number of a rank in the name of its file: that behind "rank", or else the last
// number; -1 if there is none.
func rankOf(name string) int {
	digits := ""
	if found := rankInName.FindStringSubmatch(name); found != nil {
		digits = found[1]
	} else if numbers := numberInName.FindAllString(name, -1); len(numbers) > 0 {
		digits = numbers[len(numbers)-1]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// RankTitle is "rank 3", or "rank NAME" if the name of the file has no number.
func RankTitle(name string) string {
	if n := rankOf(name); n >= 0 {
		return "rank " + strconv.Itoa(n)
	}
	return "rank " + shorten(name)
}
