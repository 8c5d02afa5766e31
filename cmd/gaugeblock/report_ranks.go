package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
	memoryreport "gaugeblock/snapshot/report"
)

// mostOpened is how many ranks can be opened on a page.
const mostOpened = 16

// ranks makes the page of the ranks of a run, at one iteration: the last one that was out of
// memory, or else the last. The worst rank is shown first. A rank that cannot be read is left
// out, and makes the exit status 2. The last iteration is read first: with pages, if there are any,
// the page of each rank is made while its snapshot is in memory.
func (c *reportCommand) ranks(env *environment, files []string, pages *rankPages) (*memoryreport.Page, *rankGroup, error) {
	page := &memoryreport.Page{}
	progress := newProgress(env.stderr, len(files), false)
	progress.counting = "%d of %d snapshots"
	stderr := progress.above(env.stderr)
	names := make([]string, len(files))
	for i, path := range files {
		names[i] = filepath.ToSlash(rankName(c.Snapshots, path))
	}
	groups := memoryreport.GroupByIteration(names)
	builders := make([]*memoryreport.RankBuilder, len(groups))
	shown := &rankGroup{ranks: &memoryreport.RankBuilder{}}
	for i, group := range slices.Backward(groups) {
		now := newRankGroup(i, group, names)
		builders[i] = now.ranks
		for _, k := range group.Files {
			progress.advance()
			runtime.GC() // the snapshot before: what two of them take together is not needed
			file, data, err := c.addRank(env, now, files[k], names[k])
			if err == nil && pages != nil && now.isShownBefore(shown) {
				if err := c.addPage(env, now, file, data, pages, names[k]); err != nil {
					progress.finish()
					return nil, nil, err
				}
			}
			if err == nil {
				continue
			}
			env.status = statusBadInput
			fmt.Fprintf(stderr, "gaugeblock: %s\n", messageOf(err))
			if len(page.Notes) < 20 {
				page.Notes = append(page.Notes, fmt.Sprintf("%s is left out: %s", filepath.Base(files[k]), messageOf(err)))
			}
		}
		if now.isShownBefore(shown) {
			shown = now
		}
	}
	progress.finish()
	if shown.ranks.Len() == 0 {
		return nil, nil, errors.New("no rank can be read")
	}
	page.Source = filepath.Base(strings.TrimSuffix(c.defaultName(), "."+c.format())) + ", " + english.Plural(len(files), "snapshot", "")
	if err := c.showRanks(env, page, shown); err != nil {
		return nil, nil, err
	}
	page.Iterations = memoryreport.IterationsOf(groups, builders, shown.index, page.Reports[page.Shown])
	return page, shown, nil
}

// rankGroup is the ranks of one iteration.
type rankGroup struct {
	index   int
	share   int // how many reports share the page
	ranks   *memoryreport.RankBuilder
	files   []string             // of the ranks
	reports []*memoryreport.Data // of the first mostOpened ranks, and of the worst one
	at      []int                // which ranks these are
	worst   *snapshot.File       // nil: its settings have been compared
	options memoryreport.Options // of the worst one
}

func newRankGroup(index int, group memoryreport.Group, names []string) *rankGroup {
	var own []string
	for _, k := range group.Files {
		own = append(own, names[k])
	}
	return &rankGroup{index: index, share: min(len(own), mostOpened), ranks: memoryreport.RanksOf(own)}
}

// isShownBefore reports whether the ranks, as far as they are known, are shown rather than those of a later iteration.
func (g *rankGroup) isShownBefore(later *rankGroup) bool {
	return g.ranks.Len() > 0 && (later.ranks.Len() == 0 || g.ranks.Failed() && !later.ranks.Failed())
}

// addRank adds a snapshot.
func (c *reportCommand) addRank(env *environment, g *rankGroup, path, name string) (*snapshot.File, *memoryreport.Data, error) {
	file, _, err := c.open(env, path, true)
	if err != nil {
		return nil, nil, err
	}
	options := memoryreport.Options{Device: chooseDevice(file, c.Device), Share: g.share, Categories: c.patterns()}
	data, err := memoryreport.Build(file, options)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	g.ranks.Add(name, data)
	if c.format() == "html" {
		data.Pack(g.share)
	}
	g.files = append(g.files, path)
	last := g.ranks.Len() - 1
	isWorst := g.ranks.Worst() == last
	if isWorst {
		g.worst, g.options = file, options
	}
	switch n := len(g.reports); {
	case n < mostOpened:
		g.reports, g.at = append(g.reports, data), append(g.at, last)
	case isWorst:
		g.reports[n-1], g.at[n-1] = data, last
	}
	return file, data, nil
}

// addPage makes the page of the rank that was added last. The page of all ranks has its comparison as well.
func (c *reportCommand) addPage(env *environment, g *rankGroup, file *snapshot.File, data *memoryreport.Data, pages *rankPages, name string) error {
	last := g.ranks.Len() - 1
	own, err := c.rankPage(env, file, g.files[last], g.ranks.TitleOfFile(name))
	if err != nil {
		return err
	}
	compared := own.Reports[0]
	data.Brief, data.Verdict, data.WhatIf, data.Notes = compared.Brief, compared.Verdict, compared.WhatIf, compared.Notes
	if g.ranks.Worst() == last {
		g.worst = nil
	}
	return pages.add(g.index, last, own)
}

// showRanks adds the ranks of one iteration to the page.
func (c *reportCommand) showRanks(env *environment, page *memoryreport.Page, g *rankGroup) error {
	worst := g.ranks.Worst()
	page.Shown = slices.Index(g.at, worst)
	if g.worst != nil {
		if err := c.addComparison(env, g.worst, &g.options); err != nil {
			return err
		}
		data, err := memoryreport.Build(g.worst, g.options)
		if err != nil {
			return err
		}
		if c.format() == "html" {
			data.Pack(g.share)
		}
		g.reports[page.Shown] = data
	}
	for i, rank := range g.at {
		g.reports[i].Title = g.ranks.Title(rank)
	}
	page.Reports, page.Ranks = g.reports, g.ranks.Ranks(g.at, g.reports[page.Shown])
	return nil
}

// rankName is the path of a rank below the folder that was given, since the folder's own name
// may have numbers too.
func rankName(arguments []string, path string) string {
	for _, folder := range arguments {
		if below, err := filepath.Rel(folder, path); err == nil && below != "." && !strings.HasPrefix(below, "..") {
			return below
		}
	}
	return filepath.Base(path)
}

// intoFolder reports whether -o names a folder.
func (c *reportCommand) intoFolder() bool {
	if strings.HasSuffix(c.Out, string(filepath.Separator)) {
		return true
	}
	there, err := os.Stat(c.Out)
	return err == nil && there.IsDir()
}

// folder writes a page of each rank of the iteration that is shown, and index.html with all of them. A
// file that is there and no page is not replaced, and then none is written.
func (c *reportCommand) folder(env *environment, files []string) error {
	if c.format() != "html" {
		return fmt.Errorf("--format=%s is one file, and %s is a folder", c.Format, quote.Text(c.Out))
	}
	pages, end, err := newRankPages(c.Out)
	if err != nil {
		return err
	}
	defer end()
	page, group, err := c.ranks(env, files, pages)
	if err != nil {
		return err
	}
	for i := range page.Ranks.List {
		k := &page.Ranks.List[i]
		k.Page = page.Ranks.FileOf(i)
		if err := c.makeSure(env, pages, group, k); err != nil {
			return err
		}
		if err := pages.open(k.Page, inputs(env, files)); err != nil {
			return err
		}
	}
	if err := pages.open("index.html", inputs(env, files)); err != nil {
		return err
	}
	for i := range page.Ranks.List {
		k := &page.Ranks.List[i]
		if err := pages.write(k.Page, func(w io.Writer) error { return pages.copyTo(w, group.index, k.Added) }); err != nil {
			return err
		}
	}
	if err := pages.write("index.html", func(w io.Writer) error { return memoryreport.Write(w, page) }); err != nil {
		return err
	}
	env.writeBriefs(page)
	_, err = fmt.Fprintf(env.stdout, "%s\n", quote.Text(filepath.Join(c.Out, "index.html")))
	return err
}

// makeSure makes the page of a rank that was read before it was known that its iteration is shown.
func (c *reportCommand) makeSure(env *environment, pages *rankPages, g *rankGroup, k *memoryreport.Rank) error {
	if pages.has(g.index, k.Added) {
		return nil
	}
	file, _, err := c.open(env, g.files[k.Added], true)
	if err != nil {
		return err
	}
	own, err := c.rankPage(env, file, g.files[k.Added], g.ranks.Title(k.Added))
	if err != nil {
		return err
	}
	return pages.add(g.index, k.Added, own)
}

// rankPage is the page of one rank.
func (c *reportCommand) rankPage(env *environment, file *snapshot.File, path, title string) (*memoryreport.Page, error) {
	options := memoryreport.Options{Title: title, Device: chooseDevice(file, c.Device), Categories: c.patterns()}
	quiet := *env
	quiet.stderr = io.Discard // there is one progress bar, of all ranks
	if err := c.addComparison(&quiet, file, &options); err != nil {
		return nil, err
	}
	data, err := memoryreport.Build(file, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(path), err)
	}
	return &memoryreport.Page{Source: title + ", " + filepath.Base(path), Reports: []*memoryreport.Data{data}}, nil
}
