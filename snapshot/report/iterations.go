package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/brief"
	"gaugeblock/spec"
)

// Frameworks take snapshots of each rank every few iterations. Ranks are compared at one
// iteration, and iterations over time.

// Group is the snapshots of one iteration.
type Group struct {
	Name    string // "iteration 20"; "" where the names of the files tell none
	numbers []int  // of the epoch, the iteration, the step: as they are in the name
	exit    bool   // taken when the program ended, or was out of memory: within an iteration
	Files   []int  // indexes of the names
}

var iterationInName = regexp.MustCompile(`(?i)(?:^|[^a-z])(iteration|iter|step|epoch)s?[-_=. ]{0,2}([0-9]{1,9})([-_](?:exit|oom))?`)

// GroupByIteration groups the names of snapshots, paths with slashes, by the iteration that they
// tell: iteration_10/rank0_memory_snapshot.pickle, memory_snapshot_rank0_step6.pkl. The earliest
// comes first, and what tells none before them.
func GroupByIteration(names []string) []Group {
	at := map[string]int{}
	var groups []Group
	for i, name := range names {
		g := groupOf(name)
		if _, known := at[g.Name]; !known {
			at[g.Name] = len(groups)
			groups = append(groups, g)
		}
		of := &groups[at[g.Name]]
		of.Files = append(of.Files, i)
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(slices.Compare(a.numbers, b.numbers), cmp.Compare(strings.Count(a.Name, ","), strings.Count(b.Name, ",")), cmp.Compare(a.Name, b.Name))
	})
	return groups
}

func groupOf(name string) (g Group) {
	var parts []string
	for _, found := range iterationInName.FindAllStringSubmatch(name, -1) {
		n, _ := strconv.Atoi(found[2])
		part := strings.ToLower(found[1]) + " " + strconv.Itoa(n)
		if slices.Contains(parts, part) { // of the folder and of the file
			continue
		}
		g.numbers = append(g.numbers, n)
		if found[3] != "" {
			g.exit = true
			part += ", " + strings.ToLower(found[3][1:])
		}
		parts = append(parts, part)
	}
	g.Name = strings.Join(parts, " ")
	return g
}

// Iterations is a run over time.
type Iterations struct {
	Brief   brief.Lines   `json:"brief"`
	Verdict string        `json:"verdict"`
	List    []Iteration   `json:"list"` // in order of time
	Shown   int           `json:"shown"`
	Rank    string        `json:"rank"`   // whose call sites are Growth
	Growth  []GrowingSite `json:"growth"` // the fastest first
	Stacks  stacks        `json:"stacks"`
}

// Iteration is the worst rank of an iteration.
type Iteration struct {
	Name    string  `json:"name"`
	Ranks   int     `json:"ranks"`
	Worst   string  `json:"worst"` // its title
	Summary Summary `json:"summary"`
	AtEnd   uint64  `json:"atEnd"` // allocated
}

// GrowingSite is what a call site holds at the end of the snapshots of one rank.
type GrowingSite struct {
	Stack  int      `json:"stack"`
	Size   uint64   `json:"size"` // as in Site
	Start  bool     `json:"start"`
	AtEnd  []uint64 `json:"atEnd"`  // by iteration, in bytes; those within an iteration are left out
	Slope  float64  `json:"slope"`  // bytes an iteration, of the straight line that is nearest
	Steady bool     `json:"steady"` // it grows from each of at least three snapshots to the next
}

// maxGrowing is how many call sites are listed.
const maxGrowing = 40

// IterationsOf is what the page shows of several iterations, nil if there is one. The builders
// are those of the groups; one without ranks could not be read. Report is that of the worst rank of the one
// that is shown; nil: its settings were not compared.
func IterationsOf(groups []Group, builders []*RankBuilder, shown int, report *Data) *Iterations {
	if len(groups) < 2 {
		return nil
	}
	it := &Iterations{List: []Iteration{}, Growth: []GrowingSite{}, Stacks: newStacks(4)}
	var whole []int // indexes of groups whose ends can be compared
	for i, r := range builders {
		if r.Len() == 0 {
			continue
		}
		if i == shown {
			it.Shown = len(it.List)
		}
		worst := &r.list[r.Worst()]
		it.List = append(it.List, Iteration{
			Name: cmp.Or(groups[i].Name, "no iteration in the name"), Ranks: r.Len(), Worst: r.Title(r.Worst()), Summary: worst.Summary, AtEnd: worst.AtEnd,
		})
		if !groups[i].exit && len(groups[i].numbers) > 0 {
			whole = append(whole, i)
		}
	}
	it.Rank = builders[shown].Title(builders[shown].Worst())
	it.grow(groups, builders, whole, builders[shown].list[builders[shown].Worst()])
	report = cmp.Or(report, builders[shown].reports[builders[shown].Worst()])
	it.Brief, it.Verdict = it.brief(len(whole), report), it.verdict(len(whole))
	return it
}

// grow finds what each call site of one rank holds at the end of each iteration.
func (it *Iterations) grow(groups []Group, builders []*RankBuilder, whole []int, rank Rank) {
	type site struct {
		GrowingSite
		of *siteTotals
	}
	sites, at := []site{}, map[comparedKey]int{}
	var numbers []float64
	for _, group := range whole {
		r := builders[group]
		r.number()
		i := slices.IndexFunc(r.list, func(k Rank) bool { return k.Number == rank.Number && (k.Number >= 0 || r.Len() == 1) })
		if i < 0 {
			continue
		}
		totals := joinCategories(slices.Clone(r.reports[i].totals))
		for k := range totals {
			s := &totals[k]
			key := keyOfSite(s)
			key.category = uncategorized
			if _, known := at[key]; !known {
				at[key] = len(sites)
				sites = append(sites, site{GrowingSite{Size: s.size, Start: s.start}, s})
			}
			of := &sites[at[key]]
			of.AtEnd = append(of.AtEnd, make([]uint64, len(numbers)+1-len(of.AtEnd))...)
			of.AtEnd[len(numbers)] += uint64(s.end[0])
		}
		numbers = append(numbers, float64(groups[group].numbers[len(groups[group].numbers)-1]))
	}
	if len(numbers) < 2 {
		return
	}
	for i := range sites {
		s := &sites[i]
		s.AtEnd = append(s.AtEnd, make([]uint64, len(numbers)-len(s.AtEnd))...)
		s.Slope = slope(numbers, s.AtEnd)
		s.Steady = len(numbers) > 2
		for k := 1; k < len(s.AtEnd); k++ {
			s.Steady = s.Steady && s.AtEnd[k] > s.AtEnd[k-1]
		}
	}
	slices.SortStableFunc(sites, func(a, b site) int { return cmp.Compare(b.Slope, a.Slope) })
	for _, s := range sites[:min(len(sites), maxGrowing)] {
		if s.Slope > 0 {
			s.Stack = it.Stacks.add(s.of.frames)
			it.Growth = append(it.Growth, s.GrowingSite)
		}
	}
}

// slope is that of the straight line with the least squares through (x, y), 0 if all x are the
// same.
func slope(x []float64, y []uint64) float64 {
	meanX, meanY := 0.0, 0.0
	for i := range x {
		meanX += x[i] / float64(len(x))
		meanY += float64(y[i]) / float64(len(x))
	}
	up, down := 0.0, 0.0
	for i := range x {
		up += (x[i] - meanX) * (float64(y[i]) - meanY)
		down += (x[i] - meanX) * (x[i] - meanX)
	}
	if down == 0 {
		return 0
	}
	return up / down
}

// verdict says whether memory grows from iteration to iteration.
func (it *Iterations) verdict(whole int) string {
	text := fmt.Sprintf("%s of one run.", english.Plural(len(it.List), "iteration", ""))
	failed := slices.IndexFunc(it.List, func(i Iteration) bool { return i.Summary.OOMs > 0 })
	if failed >= 0 {
		text += fmt.Sprintf(" Out of memory at %s.", it.List[failed].Name)
	}
	if whole < 2 {
		return text + " Whether memory grows from one to the next cannot be told: fewer than two of the snapshots were taken at the end of an iteration."
	}
	for i := range it.Growth {
		if s := &it.Growth[i]; s.Steady {
			return text + fmt.Sprintf(" Memory of %s grows from each snapshot to the next; the fastest call site %s.", it.Rank, it.growthInText(s))
		}
	}
	if len(it.Growth) > 0 && whole == 2 {
		return text + fmt.Sprintf(" Some call sites hold more at the second one; the fastest %s. Whether that goes on cannot be told from two snapshots.", it.growthInText(&it.Growth[0]))
	}
	return text + fmt.Sprintf(" No call site of %s holds more from each snapshot to the next.", it.Rank)
}

func (it *Iterations) growthInText(s *GrowingSite) string {
	return fmt.Sprintf("by %s an iteration, from %s to %s: %s", spec.FormatSize(uint64(s.Slope)), spec.FormatSize(s.AtEnd[0]), spec.FormatSize(s.AtEnd[len(s.AtEnd)-1]),
		lower(it.Stacks.siteInText(s.Stack, s.Start, s.Size)))
}
