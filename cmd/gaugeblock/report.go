package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/unpack"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	memoryreport "gaugeblock/snapshot/report"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// reportCommand is "gaugeblock report".
type reportCommand struct {
	Snapshots []string   `arg:"" name:"snapshot" help:"A file from torch.cuda.memory._dump_snapshot (also gzipped, or as JSON), or - for standard input. Two files are compared. A folder, or more files, are the ranks of a run."`
	Out       string     `short:"o" name:"out" placeholder:"FILE" help:"Write the page to this file, or - for standard output (default: the name of the snapshot with .html, in the current folder). For ranks it may be a folder: a page of each is written there, and index.html."`
	Format    string     `name:"format" enum:"html,json,csv," default:"" help:"html: a page; json: what the page shows, for programs; csv: all call sites (default: as the name behind -o says, or else html)."`
	Category  []pattern  `name:"category" sep:"none" placeholder:"NAME=REGEXP" help:"Divide the memory into your own categories: what was allocated below a frame that matches, as file:line function. May be given several times; the first that matches counts."`
	Limit     byteLimit  `name:"limit" placeholder:"SIZE" help:"Compare other settings under this limit: bytes, 4420MiB, 40GiB, or none. Without it, the limit that the recorded run reached, if it reached one."`
	Memory    byteLimit  `name:"device-memory" placeholder:"SIZE" help:"Compare them on a device that has so much memory for the program."`
	Capacity  byteLimit  `name:"capacity" placeholder:"SIZE" help:"The total capacity of the device, as PyTorch's message has it: with it the memory outside of the allocator is told."`
	WhatIf    bool       `name:"whatif" default:"true" negatable:"" help:"Compare other settings; --no-whatif leaves them out (default: compare)."`
	Device    int        `name:"device" default:"-1" placeholder:"N" help:"Show this device only (default: all of them, first the one that ran out of memory, or else has the longest history)."`
	Jobs      int        `short:"j" aliases:"workers" placeholder:"N" help:"Compare N settings at a time (default: as many as there are processors)."`
	PyTorch   release    `name:"pytorch" placeholder:"RELEASE" help:"Compare settings by the rules of this release of PyTorch, such as 2.13 (default: what the snapshot tells)."`
	MaxMemory memorySize `name:"max-memory" default:"2GiB" placeholder:"SIZE" help:"Stop if the snapshot, or comparing settings, takes more memory than this (default: 2GiB)."`

	source string   // what the page is of, if not a file that the user knows
	notes  []string // what is known of it beside the snapshot
}

// Help is what "gaugeblock report --help" prints beside the flags.
func (*reportCommand) Help() string {
	return `The page is one HTML file that loads nothing. For one snapshot: what happened and what
to do about it, allocated and reserved memory over time by call site, who holds the
memory at the peak and when it ran out, segments and blocks, and a comparison of other
settings. For two: what grew, by call site. For the ranks of a run: which rank is
worst, and how uneven they are. docs/report.md explains it.

The exit status is 0 if the page was written, and 2 if the input or the command
line made no sense, or a rank cannot be read.`
}

// pattern is a category on the command line.
type pattern memoryreport.Pattern

// UnmarshalText reads attention=attn|sdpa.
func (p *pattern) UnmarshalText(text []byte) error {
	parsed, err := memoryreport.ParsePattern(string(text))
	*p = pattern(parsed)
	return err
}

// Validate is called by kong.
func (c *reportCommand) Validate() error {
	if err := checkJobs(c.Jobs, 0); err != nil {
		return err
	}
	if len(c.Category) > memoryreport.MaxPatterns {
		return fmt.Errorf("--category was given %d times, at most %d are", len(c.Category), memoryreport.MaxPatterns)
	}
	stdins := 0
	for _, path := range c.Snapshots {
		if path == "-" {
			stdins++
		}
	}
	if stdins > 1 {
		return errors.New("standard input can be read only once")
	}
	return validateDevice(c.Device)
}

// validateDevice refuses a device that cannot exist. -1 stands for no flag.
func validateDevice(device int) error {
	if device < -1 {
		return fmt.Errorf("--device=%d is negative", device)
	}
	return nil
}

// Run reads the snapshots and writes the page.
func (c *reportCommand) Run(env *environment) error {
	files, ranks, err := c.files()
	if err != nil {
		return err
	}
	fmt.Fprint(env.stderr, c.Limit.question("--limit"), c.Memory.question("--device-memory"), c.Capacity.question("--capacity"))
	defer c.MaxMemory.bound()()
	if ranks && c.intoFolder() {
		return c.folder(env, files)
	}
	var out *memoryreport.Output
	if c.Out == "-" {
		err = c.checkStdout(env, files)
	} else {
		out, err = c.output(env, files)
	}
	if err != nil {
		return err
	}
	var page *memoryreport.Page
	switch {
	case ranks:
		page, _, err = c.ranks(env, files, nil)
	case len(files) == 2:
		page, err = c.two(env, files)
	default:
		page, err = c.one(env, files[0])
	}
	if err != nil {
		return err
	}
	env.writeBriefs(page)
	write := c.writer()
	if out == nil {
		return write(env.page, page)
	}
	if err := save(out, func(w io.Writer) error { return write(w, page) }); err != nil {
		return err
	}
	name := c.Out
	if name == "" {
		name = c.defaultName()
	}
	_, err = fmt.Fprintf(env.stdout, "%s\n", quote.Text(name))
	return err
}

// writeBriefs writes the three lines of a page to standard error, since standard output has the page or its name.
func (e *environment) writeBriefs(page *memoryreport.Page) {
	for i, lines := range page.Briefs() {
		if i > 0 {
			fmt.Fprintln(e.stderr)
		}
		writeBrief(e.stderr, e.stderr, lines)
	}
}

// save writes a file, or nothing if a signal ends the command.
func save(out *memoryreport.Output, write func(io.Writer) error) error {
	end := atSignal(out.Abandon, always)
	defer end()
	return out.WriteBy(write)
}

// format is html, json or csv.
func (c *reportCommand) format() string {
	if c.Format != "" {
		return c.Format
	}
	for _, format := range []string{"json", "csv"} {
		if strings.EqualFold(filepath.Ext(c.Out), "."+format) {
			return format
		}
	}
	return "html"
}

// writer writes a page in the format.
func (c *reportCommand) writer() func(io.Writer, *memoryreport.Page) error {
	switch c.format() {
	case "json":
		return memoryreport.WriteJSON
	case "csv":
		return memoryreport.WriteCSV
	}
	return memoryreport.Write
}

// patterns are the categories of the command line.
func (c *reportCommand) patterns() (list []memoryreport.Pattern) {
	for _, p := range c.Category {
		list = append(list, memoryreport.Pattern(p))
	}
	return list
}

// files are the snapshots, and whether they are ranks of one run.
func (c *reportCommand) files() (files []string, ranks bool, err error) {
	for _, path := range c.Snapshots {
		if there, err := os.Stat(path); path == "-" || err != nil || !there.IsDir() {
			files = append(files, path) // an error is reported when the file is opened
			continue
		}
		found, err := snapshotsIn(path)
		if err != nil {
			return nil, false, err
		}
		files, ranks = append(files, found...), true
	}
	return files, ranks || len(files) > 2, nil
}

// snapshotsIn lists the snapshots in and below a folder, by path. What is no regular file,
// such as a FIFO, is not read: it may wait for ever.
func snapshotsIn(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !unpack.IsSnapshotName(path) {
			return err
		}
		if there, err := os.Stat(path); err != nil || there.Mode().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no snapshot (%s) in or below this folder", quote.Text(folder), unpack.Names)
	}
	return files, err
}

// checkStdout refuses standard output if it is one of the inputs.
func (c *reportCommand) checkStdout(env *environment, files []string) error {
	stdout, isFile := env.page.(*os.File)
	if !isFile {
		return nil
	}
	there, err := stdout.Stat()
	if err != nil {
		return nil // the error is reported when it is written
	}
	for _, input := range inputs(env, files) {
		if os.SameFile(there, input) {
			return errors.New("standard output is the input, and is not overwritten: name another file with -o")
		}
	}
	return nil
}

// inputs are the regular files among the inputs.
func inputs(env *environment, files []string) (inputs []fs.FileInfo) {
	for _, path := range files {
		var there fs.FileInfo
		var err error
		if path == "-" {
			if file, isFile := env.stdin.(*os.File); isFile {
				there, err = file.Stat()
			}
		} else {
			there, err = os.Stat(path)
		}
		if err == nil && there != nil && there.Mode().IsRegular() {
			inputs = append(inputs, there)
		}
	}
	return inputs
}

// output is the file of the flag, or that of the default name. The latter replaces nothing
// but an earlier page.
func (c *reportCommand) output(env *environment, files []string) (*memoryreport.Output, error) {
	if c.Out != "" {
		return memoryreport.OpenOutput(c.Out, inputs(env, files)...)
	}
	out, err := memoryreport.OpenOutput(c.defaultName(), inputs(env, files)...)
	if err == nil && out.Exists() && !out.IsReport() {
		return nil, fmt.Errorf("%s exists and is not a page of gaugeblock: name another file with -o", c.defaultName())
	}
	return out, err
}

// defaultName is the name of the page if none is given.
func (c *reportCommand) defaultName() string {
	absolute, err := filepath.Abs(c.Snapshots[0])
	if err != nil {
		absolute = c.Snapshots[0]
	}
	name := unpack.BaseName(filepath.Base(absolute))
	if c.Snapshots[0] == "-" || name == string(filepath.Separator) || name == "" {
		name = "report"
	}
	return name + "." + c.format()
}

// one makes the page of a snapshot: a report of each device that has anything.
func (c *reportCommand) one(env *environment, path string) (*memoryreport.Page, error) {
	file, name, err := c.open(env, path, false)
	if err != nil {
		return nil, err
	}
	page := &memoryreport.Page{Source: cmp.Or(c.source, filepath.Base(name)), Notes: c.notes}
	chosen := chooseDevice(file, c.Device)
	devices, more := []spec.Device{chosen}, 0
	if c.Device < 0 {
		devices, more = memoryreport.Devices(file, chosen)
	}
	if more > 0 {
		page.Notes = append(page.Notes, english.Plural(more, "more device is", "more devices are")+" not shown; --device chooses one.")
	}
	for _, device := range devices {
		options := memoryreport.Options{Title: fmt.Sprintf("device %d", device), Device: device, Share: len(devices), Categories: c.patterns()}
		if device == chosen {
			page.Shown = len(page.Reports)
			if err := c.addComparison(env, file, &options); err != nil {
				return nil, err
			}
		}
		data, err := env.build(file, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
		}
		page.Reports = append(page.Reports, data)
	}
	return page, nil
}

// open reads a snapshot, and says of a trace which command takes it.
func (c *reportCommand) open(env *environment, path string, quiet bool) (*snapshot.File, string, error) {
	file, name, err := env.openSnapshot(path, c.MaxMemory, quiet)
	if errors.Is(err, snapshot.ErrTrace) {
		err = fmt.Errorf("%s: this is a trace, not a memory snapshot; gaugeblock whatif takes it", quote.Text(name))
	}
	return file, name, err
}

// two makes the page that compares two snapshots.
func (c *reportCommand) two(env *environment, files []string) (*memoryreport.Page, error) {
	page := &memoryreport.Page{Shown: 1}
	titles := [2]string{filepath.Base(files[0]), filepath.Base(files[1])}
	if titles[0] == titles[1] {
		titles = [2]string{files[0], files[1]}
	}
	for i, path := range files {
		file, name, err := c.open(env, path, false)
		if err != nil {
			return nil, err
		}
		options := memoryreport.Options{Title: titles[i], Device: chooseDevice(file, c.Device), Share: len(files), Categories: c.patterns()}
		if err := c.addComparison(env, file, &options); err != nil {
			return nil, err
		}
		data, err := env.build(file, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
		}
		page.Reports = append(page.Reports, data)
	}
	page.Source = titles[0] + " and " + titles[1]
	page.Compared = memoryreport.Compare(page.Reports[0], page.Reports[1])
	return page, nil
}

// addComparison compares other settings. Without history there is a page all the same.
func (c *reportCommand) addComparison(env *environment, file *snapshot.File, options *memoryreport.Options) error {
	if !c.WhatIf {
		return nil
	}
	workload, err := play.FromSnapshotOf(file, options.Device, c.PyTorch.orOf(file))
	var none *history.WorkloadError
	if errors.As(err, &none) {
		return nil // the page has a note
	}
	if err != nil {
		return err
	}
	if c.Capacity.bytes > 0 {
		workload.DeviceMemory = c.Capacity.bytes
	}
	options.Comparison, err = env.compare(workload, compare.Options{Limit: c.Limit.bytes, DeviceMemory: c.Memory.bytes, AsRecorded: !c.Limit.given && !c.Memory.given, Jobs: c.Jobs, MaxMemory: c.MaxMemory.most()}, false)
	if err == nil {
		options.Notes = append(options.Notes, tell.Answer{Comparison: options.Comparison}.LimitNote(), tell.Answer{Comparison: options.Comparison}.ReleaseNote())
	}
	return inFile(c.Snapshots[0], err)
}

// build makes a report, with a progress bar.
func (e *environment) build(file *snapshot.File, o memoryreport.Options) (*memoryreport.Data, error) {
	progress := newProgress(e.stderr, math.MaxInt, false)
	progress.counting = "drawing: %d of %d entries"
	o.Progress = func(done, of int) {
		progress.total = of
		progress.set(done)
	}
	defer progress.finish()
	return memoryreport.Build(file, o)
}
