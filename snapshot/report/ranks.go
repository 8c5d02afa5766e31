package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/brief"
	"gaugeblock/spec"
)

// maxRanks is how many ranks a page lists.
const maxRanks = 1000

// maxSitesOfRank is how many call sites of a rank are kept, those that hold the most.
const maxSitesOfRank = 500

// Ranks are the snapshots of the ranks of a distributed run.
type Ranks struct {
	Brief   brief.Lines `json:"brief"`
	Verdict string      `json:"verdict"`
	List    []Rank      `json:"list"`    // by number
	Worst   int         `json:"worst"`   // index into List: out of memory, or else the most reserved memory
	Middle  int         `json:"middle"`  // index of the rank with the median of the peak allocated
	More    int         `json:"more"`    // ranks that are not listed
	Against *Compared   `json:"against"` // the middle one with the worst; nil if there is one rank
}

// Rank is one rank.
type Rank struct {
	Name     string  `json:"name"`   // of the file
	Number   int     `json:"number"` // -1: the names of the files do not tell it
	Device   int     `json:"device"`
	Summary  Summary `json:"summary"`
	AtEnd    uint64  `json:"atEnd"` // allocated
	Segments int     `json:"segments"`
	Report   int     `json:"report"` // index into Page.Reports; -1: it is not on the page
	Page     string  `json:"page"`   // the name of a page beside this one; "": there is none
	Added    int     `json:"-"`      // how many were added before
}

// RankBuilder adds up the ranks of a run, one after the other. Of a snapshot it keeps what
// its largest call sites hold.
type RankBuilder struct {
	list    []Rank
	names   []string
	numbers map[string]int // by name, of all files that may be added; nil: of those that are
	reports []*Data        // by index in list; only what Compare needs
}

// RanksOf adds up ranks from files with these names, from which their numbers follow. Those that
// cannot be read are not added.
func RanksOf(names []string) *RankBuilder { return &RankBuilder{numbers: numbersByName(names)} }

func numbersByName(names []string) map[string]int {
	numbers := map[string]int{}
	for i, n := range rankNumbers(names) {
		numbers[names[i]] = n
	}
	return numbers
}

// TitleOfFile is the title of the rank from a file: "rank 3", or the name of the file.
func (r *RankBuilder) TitleOfFile(name string) string { return titleOf(r.numbers[name], name) }

func titleOf(number int, name string) string {
	if number >= 0 {
		return "rank " + strconv.Itoa(number)
	}
	return shorten(name)
}

// Add adds the report of a rank. Name is that of the file.
func (r *RankBuilder) Add(name string, d *Data) {
	end := d.layout("end")
	r.names = append(r.names, name)
	r.list = append(r.list, Rank{
		Name: shorten(name), Number: -1, Device: d.Device, Summary: d.Summary, Added: len(r.list),
		AtEnd: end.Allocated, Segments: len(end.Segments) + end.LeftOut,
	})
	totals := slices.Clone(d.totals)
	slices.SortStableFunc(totals, func(a, b siteTotals) int { return cmp.Compare(b.weight(), a.weight()) })
	totals = slices.Clone(totals[:min(len(totals), maxSitesOfRank)])
	for i := range totals {
		totals[i].series = nil
	}
	r.reports = append(r.reports, &Data{Title: shorten(name), Summary: d.Summary, totals: totals, categoryTexts: d.categoryTexts})
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

// Failed reports whether a rank was out of memory.
func (r *RankBuilder) Failed() bool { return r.Len() > 0 && r.list[r.Worst()].Summary.OOMs > 0 }

// Ranks is what the page shows of all ranks. Opened are the ranks whose reports the page has, in
// their order. Report is that of the worst one; nil: its settings were not compared.
func (r *RankBuilder) Ranks(opened []int, report *Data) *Ranks {
	r.number()
	for i := range r.list {
		r.list[i].Report = slices.Index(opened, i)
	}
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
		shown.Against = compareReports(r.reports[middle], r.reports[worst], (*ComparedSite).more)
	}
	shown.Brief, shown.Verdict = r.brief(shown.Against, cmp.Or(report, r.reports[worst]), byAllocated), r.verdict(worst, byAllocated)
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
	switch failed := r.failed(); {
	case failed > 1:
		text += fmt.Sprintf("it and %d more ran out of memory, with ", failed-1)
	case failed == 1:
		text += "it ran out of memory, with "
	}
	text += fmt.Sprintf("%s allocated and %s reserved at its peaks.", spec.FormatSize(w.Summary.PeakAllocated), spec.FormatSize(w.Summary.PeakReserved))
	if len(r.list) == 1 {
		return text
	}
	text += r.settings()
	allocated := func(s *Summary) uint64 { return s.PeakAllocated }
	reserved := func(s *Summary) uint64 { return s.PeakReserved }
	text += r.spread("allocated", byAllocated, allocated)
	byReserved := slices.Clone(byAllocated)
	slices.SortStableFunc(byReserved, func(i, j int) int {
		return cmp.Compare(r.list[i].Summary.PeakReserved, r.list[j].Summary.PeakReserved)
	})
	text += r.spread("reserved", byReserved, reserved)
	if float64(w.Summary.PeakAllocated) <= 1.02*r.median(byAllocated, allocated) && float64(w.Summary.PeakReserved) > 1.05*r.median(byReserved, reserved) {
		text += " The worst rank does not allocate more than the median: what it has more is reserved and not allocated, which is fragmentation or cache."
	}
	return text
}

// failed is how many ranks ran out of memory.
func (r *RankBuilder) failed() (n int) {
	for i := range r.list {
		n += min(r.list[i].Summary.OOMs, 1)
	}
	return n
}

// settings says that the ranks have different settings, "" if they have the same.
func (r *RankBuilder) settings() string {
	var different []string
	for i := range r.list {
		if s := settingsInText(&r.list[i].Summary); !slices.Contains(different, s) {
			different = append(different, s)
		}
	}
	if len(different) < 2 {
		return ""
	}
	slices.Sort(different)
	const most = 4
	more := ""
	if len(different) > most {
		more = fmt.Sprintf("; and %d more", len(different)-most)
	}
	return " The ranks have different settings: " + strings.Join(different[:min(most, len(different))], "; ") + more + "."
}

// spread says how far the ranks, which are sorted, are apart.
func (r *RankBuilder) spread(name string, sorted []int, peak func(*Summary) uint64) string {
	of := func(i int) uint64 { return peak(&r.list[sorted[i]].Summary) }
	last := len(sorted) - 1
	least, most := of(0), of(last)
	if least == most {
		return fmt.Sprintf(" The peak %s is %s on all of them.", name, spec.FormatSize(most))
	}
	return fmt.Sprintf(" The peak %s is from %s (%s) to %s (%s), the largest %s above the median.", name,
		spec.FormatSize(least), r.reports[sorted[0]].Title, spec.FormatSize(most), r.reports[sorted[last]].Title, r.aboveMedian(sorted, peak))
}

// aboveMedian is how far the largest is above the median.
func (r *RankBuilder) aboveMedian(sorted []int, peak func(*Summary) uint64) string {
	most := peak(&r.list[sorted[len(sorted)-1]].Summary)
	return fmt.Sprintf("%.1f\u00a0%%", 100*(float64(most)/max(r.median(sorted, peak), 1)-1))
}

// median is the median of ranks that are sorted; of an even number the mean of the two in the middle.
func (r *RankBuilder) median(sorted []int, peak func(*Summary) uint64) float64 {
	of := func(i int) float64 { return float64(peak(&r.list[sorted[i]].Summary)) }
	return (of((len(sorted)-1)/2) + of(len(sorted)/2)) / 2
}

var (
	rankInName   = regexp.MustCompile(`(?i)rank[^0-9a-z]{0,2}([0-9]{1,9})`)
	numberInName = regexp.MustCompile(`[0-9]{1,9}`)
)

// number gives the ranks their numbers and titles, where the names of all files tell them.
func (r *RankBuilder) number() {
	numbers := r.numbers
	if numbers == nil {
		numbers = numbersByName(r.names)
	}
	for i, name := range r.names {
		r.list[i].Number, r.reports[i].Title = numbers[name], titleOf(numbers[name], name)
	}
}

// Title is "rank 3", or the name of the file.
func (r *RankBuilder) Title(i int) string {
	r.number()
	return r.reports[i].Title
}

// FileOf is the name of a page for one of the ranks.
func (r *Ranks) FileOf(i int) string {
	if n := r.List[i].Number; n >= 0 {
		return fmt.Sprintf("rank%d.html", n)
	}
	return fmt.Sprintf("file%d.html", i+1)
}

// rankNumbers are the numbers of ranks in the names of their files: those behind "rank", or
// else the last numbers, if the names are the same apart from these. A number is -1 where
// there is none, and all are -1 if two are equal.
func rankNumbers(names []string) []int {
	numbers := make([]int, len(names))
	if slices.ContainsFunc(names, rankInName.MatchString) {
		for i, name := range names {
			numbers[i] = -1
			if found := rankInName.FindStringSubmatch(name); found != nil {
				numbers[i], _ = strconv.Atoi(found[1])
			}
		}
	} else {
		around := map[string]bool{}
		for i, name := range names {
			at := numberInName.FindAllStringIndex(name, -1)
			if len(at) == 0 {
				return noNumbers(names)
			}
			last := at[len(at)-1]
			numbers[i], _ = strconv.Atoi(name[last[0]:last[1]])
			around[name[:last[0]]+"#"+name[last[1]:]] = true
		}
		if len(names) < 2 || len(around) > 1 {
			return noNumbers(names)
		}
	}
	seen := map[int]bool{}
	for _, n := range numbers {
		if n >= 0 && seen[n] {
			return noNumbers(names)
		}
		seen[n] = true
	}
	return numbers
}

func noNumbers(names []string) []int { return slices.Repeat([]int{-1}, len(names)) }
