package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/quote"
	"gaugeblock/internal/similar"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	memoryreport "gaugeblock/snapshot/report"
	"gaugeblock/spec"
	runner "gaugeblock/tools/run"
)

// runCommand is "gaugeblock run".
type runCommand struct {
	Command     []string  `arg:"" passthrough:"" name:"command" help:"The command, behind --, as it would be started on a machine with GPUs."`
	GPU         string    `name:"gpu" default:"h200" placeholder:"GPU" help:"What GPU: ${gpus} (default: h200)."`
	Memory      byteLimit `name:"memory" placeholder:"BYTES" help:"Memory of each GPU, such as 24GiB (default: as the GPU has)."`
	GPUs        int       `name:"gpus" default:"1" placeholder:"N" help:"How many GPUs (default: 1)."`
	Rank        int       `name:"rank" placeholder:"R" help:"With --world-size: which rank (default: 0)."`
	WorldSize   int       `name:"world-size" placeholder:"N" help:"Run only one rank of a program for N processes; the others are taken to have what it has."`
	Settings    string    `name:"settings" placeholder:"SETTINGS" help:"The allocator's settings, as in PYTORCH_ALLOC_CONF (default: those of the environment)."`
	MaxReserved byteLimit `name:"max-reserved" placeholder:"BYTES" help:"Exit with 1 if more than this is reserved on a GPU."`
	Report      string    `name:"report" placeholder:"FILE" help:"Write the page of gaugeblock report to this file."`
	Snapshot    string    `name:"snapshot" placeholder:"FILE" help:"Write PyTorch's memory snapshot, with its history, to this file."`
	JSON        string    `name:"json" placeholder:"FILE" help:"Write the result to this file, for programs."`
	Sites       bool      `name:"sites" help:"Tell in --json which lines of the program hold the memory at the peak, for --compare."`
	Compare     string    `name:"compare" placeholder:"FILE" help:"Say what has grown since the run that wrote this file by --json and --sites."`
	MaxGrowth   *float64  `name:"max-growth" placeholder:"PERCENT" help:"Exit with 1 if the peak of reserved memory is so much larger than in the file of --compare."`
	Range       bool      `name:"range" help:"Run the program up to five times more, with work that takes time, and with --assume=most if counts are not known, and tell between which figures the peak was."`
	Values      string    `name:"values" enum:"true,none" default:"true" help:"true: integers and booleans have their true values; none: they read as zeros (default: true)."`
	Assume      string    `name:"assume" enum:"least,most" default:"least" help:"Where a size is a count of values that are not known, such as those that a mask of numbers leaves: least: nothing counts, most: everything does (default: least)."`
	Patience    int       `name:"patience" default:"300" placeholder:"READS" help:"A loop that makes no progress but reads a value that is not known is taken to end after so many reads; 0: never (default: 300)."`
	CuDNN       string    `name:"cudnn" enum:"own,none" default:"own" help:"own: workspaces of convolutions are those that NVIDIA's cuDNN in the program's wheels tells; none: they are 0 (default: own)."`
	Verbose     bool      `short:"v" name:"verbose" help:"Name the functions of CUDA that were asked for and are not there."`
}

// Help is what "gaugeblock run --help" prints beside the flags.
func (*runCommand) Help() string {
	return `Runs a program with its own Python and PyTorch on a fake GPU, and tells at the end how
much memory PyTorch's allocator has reserved and allocated at most, whether, where and why
it ran out of memory, and what to try:

    gaugeblock run -- python train.py
    gaugeblock run --gpu 4090 --settings expandable_segments:True -- python train.py
    gaugeblock run -- torchrun --nproc-per-node 4 train.py
    gaugeblock run --rank 0 --world-size 1024 -- python train.py

Kernels are not run, so what is computed on the GPU is not there; docs/run.md tells what
that means. What the program prints is its own; the lines of this command go to the error
output. Ctrl-C gives the answer so far.

With --compare the lines of the program are named that hold more memory at the peak than in
an earlier run.

The exit status is the program's, or 1 if it was 0 and more than --max-reserved was reserved
or the peak has grown by more than --max-growth, and 2 if the program could not be started.`
}

// knownGPU is an error if no GPU of the table has that word.
func knownGPU(word string) error {
	if _, found := gpus.Find(word); !found {
		return fmt.Errorf("--gpu=%q is none of %s%s", word, strings.Join(gpus.Words(), ", "), similar.Question(word, gpus.Words()))
	}
	return nil
}

// Validate is called by kong.
func (c *runCommand) Validate() error {
	if err := knownGPU(c.GPU); err != nil {
		return err
	}
	if c.GPUs < 1 || c.GPUs > fakegpu.MaxDevices {
		return fmt.Errorf("--gpus=%d is not from 1 to %d", c.GPUs, fakegpu.MaxDevices)
	}
	if c.WorldSize < 0 || c.Rank < 0 || c.Rank >= max(c.WorldSize, 1) {
		return fmt.Errorf("--rank=%d and --world-size=%d: a rank is from 0 to one less than their number", c.Rank, c.WorldSize)
	}
	if c.MaxGrowth != nil && c.Compare == "" {
		return errors.New("--max-growth needs --compare")
	}
	if c.Settings == "" {
		return nil
	}
	return compare.CheckSettings(c.Settings)
}

// Run runs the program.
func (c *runCommand) Run(env *environment) error {
	command, err := commandBehind(c.Command, "run")
	if err != nil {
		return err
	}
	c.Command = command
	fmt.Fprint(env.stderr, c.Memory.question("--memory"), c.MaxReserved.question("--max-reserved"))
	gpu, _ := gpus.Find(c.GPU)
	say := func(line string) { fmt.Fprintf(env.stderr, "gaugeblock: %s\n", line) }
	old, err := c.older()
	if err != nil {
		return err
	}
	outputs, err := c.outputs()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "gaugeblock-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	options := runner.Options{
		Command: command, GPU: gpu, Memory: c.Memory.bytes, GPUs: c.GPUs, Rank: c.Rank, WorldSize: c.WorldSize, Settings: c.Settings,
		Snapshot: c.Snapshot != "", Report: c.Report != "", Sites: c.Sites || old != nil, NoValues: c.Values == "none", NoCuDNN: c.CuDNN == "none",
		Assume: c.Assume, Patience: cmp.Or(c.Patience, -1), Decide: true,
		Say: say, Progress: c.progress(env),
	}
	result, err := runner.Run(options, folder)
	if err != nil {
		return err
	}
	result.Settings = otherSettings(env, result, options.Snapshot || options.Report)
	if isTerminal(env.stderr) {
		result.Tell(unquoted(env.stderr), bold)
	} else {
		result.Tell(env.stderr, nil)
	}
	if c.Verbose {
		for _, name := range result.Lacking {
			say(name)
		}
	}
	record := &runner.Record{Result: result, Summary: result.Summarize()}
	if record.Sites, err = c.sites(result, folder); err != nil {
		return err
	}
	if c.Range && !result.Interrupted {
		if err := bounds(record, options, say); err != nil {
			return err
		}
	}
	env.status = c.status(env, record, old)
	return c.write(env, record, outputs)
}

// progress writes a line that is overwritten, if the error output is a terminal.
func (c *runCommand) progress(env *environment) func(runner.Progress) {
	if !isTerminal(env.stderr) {
		return nil
	}
	return func(p runner.Progress) {
		if p.Reserved > 0 {
			fmt.Fprintf(unquoted(env.stderr), "\r\x1b[Kgaugeblock: %v\r", p)
		}
	}
}

// bounds runs the program again, with work that takes time, and then, if it allocates by counts that
// are not known, with as many as there can be.
func bounds(record *runner.Record, options runner.Options, say func(string)) error {
	options.Snapshot, options.Report, options.Sites, options.Decide = false, false, false, false
	err := record.Bound(func(s runner.Schedule) (*runner.Result, error) {
		timed := options
		timed.Schedule, timed.Streams = s, true
		return again(timed)
	})
	if err != nil {
		return err
	}
	say(record.Range.String())
	if !record.HasUnknownSizes() || options.Assume == runner.AssumeMost {
		return nil
	}
	options.Assume = runner.AssumeMost
	most, err := again(options)
	if err != nil {
		return err
	}
	say(record.Counted(most))
	return nil
}

// again runs a program of which only the figures are wanted.
func again(options runner.Options) (*runner.Result, error) {
	folder, err := os.MkdirTemp("", "gaugeblock-run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	return runner.Run(options, folder)
}

// longestResult is more than any run writes, in bytes.
const longestResult = 64 << 20

// older is the result to compare with, which is read before the program is run.
func (c *runCommand) older() (*runner.Record, error) {
	if c.Compare == "" {
		return nil, nil
	}
	file, err := os.Open(c.Compare)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestResult+1))
	if err != nil {
		return nil, err
	}
	old := &runner.Record{}
	if len(text) > longestResult {
		err = fmt.Errorf("it is longer than %d MiB", longestResult>>20)
	} else {
		err = json.Unmarshal(text, old)
	}
	if err != nil || old.Summary.PeakReserved == 0 {
		return nil, fmt.Errorf("%s is no result of gaugeblock run --json: %w", quote.Text(c.Compare), cmp.Or(err, errors.New("it has no peak")))
	}
	return old, nil
}

// sites are the lines that hold the memory at the peak. What this command runs inside of the program is in a folder
// of the run, with another name in each.
func (c *runCommand) sites(result *runner.Result, folder string) ([]runner.Site, error) {
	worst, device := result.Worst()
	if !c.Sites && c.Compare == "" || worst == nil || worst.Snapshot == "" {
		return nil, nil
	}
	file, err := snapshot.OpenLimited(worst.Snapshot, reportMemory.most())
	if err != nil {
		return nil, err
	}
	data, err := memoryreport.Build(file, memoryreport.Options{Device: spec.Device(device.Device)})
	if err != nil {
		return nil, err
	}
	bytes := map[string]uint64{}
	for _, s := range data.Sites {
		bytes[data.Line(&s)] += s.Peak[0]
	}
	var sites []runner.Site
	files := sourceFiles{}
	current, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for at, n := range bytes {
		sites = append(sites, runner.Site{At: below(below(at, filepath.Join(folder, "site")), current), Code: files.line(at), Bytes: n})
	}
	slices.SortFunc(sites, func(a, b runner.Site) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.At, b.At)) })
	return sites, nil
}

// sourceFiles are the lines of files of the program.
type sourceFiles map[string][]string

// line is the text of a line, named as FILE:NUMBER; "" if it is not known.
func (f sourceFiles) line(at string) string {
	colon := strings.LastIndexByte(at, ':')
	number, err := strconv.Atoi(at[colon+1:])
	if colon < 0 || err != nil {
		return ""
	}
	file := at[:colon]
	if _, read := f[file]; !read {
		f[file] = nil
		if there, err := os.Stat(file); err == nil && there.Mode().IsRegular() { // unlike <string>, or a pipe
			text, _ := os.ReadFile(file)
			f[file] = strings.Split(string(text), "\n")
		}
	}
	if lines := f[file]; number >= 1 && number <= len(lines) {
		return strings.TrimSpace(lines[number-1])
	}
	return ""
}

// below is a path without a folder, which is another one elsewhere.
func below(path, folder string) string {
	return strings.TrimPrefix(path, folder+string(filepath.Separator))
}

// status is the program's, unless it has reserved too much.
func (c *runCommand) status(env *environment, r, old *runner.Record) int {
	var wrong []string
	if c.MaxReserved.given && r.Summary.PeakReserved > c.MaxReserved.bytes {
		wrong = append(wrong, fmt.Sprintf("reserved more than --max-reserved=%d bytes", c.MaxReserved.bytes))
	}
	if old != nil {
		for _, line := range r.Grown(old) {
			fmt.Fprintf(env.stderr, "gaugeblock: %s\n", line)
		}
		if c.MaxGrowth != nil && r.ExceedsBy(*c.MaxGrowth, old) {
			wrong = append(wrong, fmt.Sprintf("the peak has grown by more than --max-growth=%g %%", *c.MaxGrowth))
		}
	}
	for _, line := range wrong {
		fmt.Fprintf(env.stderr, "gaugeblock: %s\n", line)
	}
	if len(wrong) > 0 && r.Status == 0 {
		return statusDiffers
	}
	return r.Status
}

// outputs are the files that are asked for: that they can be written is known before the program runs.
type outputs struct{ json, snapshot *memoryreport.Output }

func (c *runCommand) outputs() (o outputs, err error) {
	if _, err := openOutput(c.Report); err != nil { // gaugeblock report opens it
		return o, err
	}
	if o.json, err = openOutput(c.JSON); err != nil {
		return o, err
	}
	o.snapshot, err = openOutput(c.Snapshot)
	return o, err
}

// write writes the files that are asked for.
func (c *runCommand) write(env *environment, result *runner.Record, to outputs) error {
	worst, _ := result.Worst()
	recorded := ""
	if worst != nil {
		recorded = worst.Snapshot
	}
	for i := range result.Processes { // their snapshots end with the command
		result.Processes[i].Snapshot = ""
	}
	if recorded != "" {
		worst.Snapshot = c.Snapshot
	}
	if err := writeForPrograms(to.json, result); err != nil {
		return err
	}
	if c.Snapshot == "" && c.Report == "" {
		return nil
	}
	if recorded == "" {
		return errors.New("run: there is no memory snapshot: no process ended with one")
	}
	if c.Report != "" {
		page := &reportCommand{Snapshots: []string{recorded}, Out: c.Report, WhatIf: true, Device: -1, MaxMemory: reportMemory}
		page.source, page.notes = "gaugeblock run -- "+strings.Join(c.Command, " "), result.Doubts()
		quiet := *env
		quiet.stdout = env.stderr
		if err := page.Run(&quiet); err != nil {
			return err
		}
	}
	if c.Snapshot != "" {
		file, err := os.Open(recorded)
		if err != nil {
			return err
		}
		defer file.Close()
		return writeWhole(to.snapshot, file)
	}
	return nil
}

// reportMemory is what making the page may take.
const reportMemory = memorySize(4 * spec.GiB)
