package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
// out, and makes the exit status 2.
func (c *reportCommand) ranks(env *environment, files []string) (*memoryreport.Page, *rankGroup, error) {
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
	var shown rankGroup
	for i, group := range groups {
		now := rankGroup{index: i, ranks: &memoryreport.RankBuilder{}}
		builders[i] = now.ranks
		for _, k := range group.Files {
			progress.advance()
			err := c.addRank(env, &now, files[k], names[k], len(group.Files))
			if err == nil {
				continue
			}
			env.status = statusBadInput
			fmt.Fprintf(stderr, "gaugeblock: %s\n", messageOf(err))
			if len(page.Notes) < 20 {
				page.Notes = append(page.Notes, fmt.Sprintf("%s is left out: %s", filepath.Base(files[k]), messageOf(err)))
			}
		}
		if now.worst != nil && (shown.worst == nil || now.ranks.Failed() || !shown.ranks.Failed()) {
			shown = now
		}
	}
	progress.finish()
	if shown.worst == nil {
		return nil, nil, errors.New("no rank can be read")
	}
	page.Source = filepath.Base(strings.TrimSuffix(c.defaultName(), "."+c.format())) + ", " + english.Plural(len(files), "snapshot", "")
	if err := c.showRanks(env, page, &shown); err != nil {
		return nil, nil, err
	}
	page.Iterations = memoryreport.IterationsOf(groups, builders, shown.index)
	return page, &shown, nil
}

// rankGroup is the ranks of one iteration.
type rankGroup struct {
	index   int
	ranks   *memoryreport.RankBuilder
	files   []string             // of the ranks
	reports []*memoryreport.Data // of the first mostOpened ranks, and of the worst one
	at      []int                // which ranks these are
	worst   *snapshot.File
	options memoryreport.Options // of the worst one
}

// addRank adds a snapshot.
func (c *reportCommand) addRank(env *environment, g *rankGroup, path, name string, share int) error {
	file, _, err := c.open(env, path, true)
	if err != nil {
		return err
	}
	options := memoryreport.Options{Device: chooseDevice(file, c.Device), Share: min(share, mostOpened), Categories: c.patterns()}
	data, err := memoryreport.Build(file, options)
	if err != nil {
		return fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	g.ranks.Add(name, data)
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
	return nil
}

// showRanks adds the ranks of one iteration to the page.
func (c *reportCommand) showRanks(env *environment, page *memoryreport.Page, g *rankGroup) error {
	worst := g.ranks.Worst()
	if err := c.addComparison(env, g.worst, &g.options); err != nil {
		return err
	}
	data, err := memoryreport.Build(g.worst, g.options)
	if err != nil {
		return err
	}
	for i, rank := range g.at {
		if rank == worst {
			g.reports[i], page.Shown = data, i
		}
		g.reports[i].Title = g.ranks.Title(rank)
	}
	page.Reports, page.Ranks = g.reports, g.ranks.Ranks(g.at)
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
// file that is there and no page is not replaced.
func (c *reportCommand) folder(env *environment, files []string) error {
	if c.format() != "html" {
		return fmt.Errorf("--format=%s is one file, and %s is a folder", c.Format, quote.Text(c.Out))
	}
	page, group, err := c.ranks(env, files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return fmt.Errorf("%s cannot be written: %w", quote.Text(c.Out), errors.Unwrap(err))
	}
	progress := newProgress(env.stderr, len(group.files), false)
	progress.counting = "%d of %d pages"
	defer progress.finish()
	for i := range page.Ranks.List {
		k := &page.Ranks.List[i]
		rank, err := c.rankPage(env, group.files[k.Added], page.Ranks.TitleOf(i))
		if err != nil {
			return err
		}
		k.Page = page.Ranks.FileOf(i)
		if err := c.writeInto(env, files, k.Page, rank); err != nil {
			return err
		}
		progress.advance()
	}
	if err := c.writeInto(env, files, "index.html", page); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s\n", quote.Text(filepath.Join(c.Out, "index.html")))
	return err
}

// rankPage is the page of one rank.
func (c *reportCommand) rankPage(env *environment, path, title string) (*memoryreport.Page, error) {
	file, name, err := c.open(env, path, true)
	if err != nil {
		return nil, err
	}
	options := memoryreport.Options{Title: title, Device: chooseDevice(file, c.Device), Categories: c.patterns()}
	if err := c.addComparison(env, file, &options); err != nil {
		return nil, err
	}
	data, err := memoryreport.Build(file, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	return &memoryreport.Page{Source: title + ", " + filepath.Base(path), Reports: []*memoryreport.Data{data}}, nil
}

// writeInto writes a page into the folder.
func (c *reportCommand) writeInto(env *environment, files []string, name string, page *memoryreport.Page) error {
	path := filepath.Join(c.Out, name)
	out, err := memoryreport.OpenOutput(path, inputs(env, files)...)
	if err != nil {
		return err
	}
	if out.Exists() && !out.IsReport() {
		return fmt.Errorf("%s exists and is not a page of gaugeblock: name another folder with -o", quote.Text(path))
	}
	return save(out, func(w io.Writer) error { return memoryreport.Write(w, page) })
}
