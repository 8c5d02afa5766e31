package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"gaugeblock/snapshot/history"
	memoryreport "gaugeblock/snapshot/report"
	"gaugeblock/tools/compare"
)

// comparingCommand is "gaugeblock compare".
type comparingCommand struct {
	Workload      string        `arg:"" help:"What the program requested: a memory snapshot with its history, or a recorded trace (*.jsonl), as whatif takes them."`
	Allocators    []string      `arg:"" name:"allocator" help:"pytorch[:RELEASE][,SETTINGS], cudaMallocAsync, a shared library as examine takes it (lib.so, or lib.so:my_malloc,my_free), or driver:COMMAND, a program that speaks examine's line protocol."`
	Limit         byteLimit     `name:"limit" placeholder:"SIZE" help:"The memory of the device: 4420MiB, 39.5GiB (default: so much that nothing fails)."`
	SmallestLimit bool          `name:"smallest-limit" help:"Find the smallest device on which no request fails, for each allocator."`
	Times         bool          `name:"times" help:"Say how long a request takes on average. Libraries and programs are processes of their own, and their calls of the driver go from one process to another."`
	Report        string        `name:"report" placeholder:"FILE" help:"Also write an HTML page with what each held over time."`
	JSON          bool          `name:"json" help:"Print nothing but a JSON object."`
	Device        int           `name:"device" default:"-1" placeholder:"N" help:"Use the history of this device (default: the one that ran out of memory, or else the one with the longest history)."`
	PyTorch       release       `name:"pytorch" placeholder:"RELEASE" help:"Read the record as one of this release (default: what it tells)."`
	Patience      time.Duration `name:"patience" default:"10s" placeholder:"T" help:"A call of an allocator that takes longer hangs (default: 10s)."`
	MaxMemory     memorySize    `name:"max-memory" default:"2GiB" placeholder:"SIZE" help:"Stop if the file takes more memory than this (default: 2GiB)."`
}

// Help is what "gaugeblock compare --help" says beside the flags.
func (*comparingCommand) Help() string {
	return `The same requests are made of each allocator, on a fake GPU of its own: which holds less on
this program? The first row is PyTorch's allocator with the settings of the record.

    gaugeblock compare snapshot.pickle cudaMallocAsync ./libmine.so pytorch,expandable_segments:True

"held at most" is memory of the device, and "of requested" its share of the most that the
program had requested at one time, which no allocator can do without. Work of streams is
complete at once. Only pytorch knows private pools. tools/compare/README.md has an example.

The exit status is 0 when all could be compared, 1 when an allocator ended early, and 2 when
the input or the command line made no sense.`
}

// Validate is called by kong.
func (c *comparingCommand) Validate() error {
	if c.Patience <= 0 {
		return fmt.Errorf("--patience=%v: a call needs some time", c.Patience)
	}
	return validateDevice(c.Device)
}

// Run makes the requests of all allocators, and prints what they hold.
func (c *comparingCommand) Run(env *environment) (err error) {
	page, err := openOutput(c.Report) // before minutes are spent
	if err != nil {
		return err
	}
	var candidates []compare.Candidate
	for _, text := range append([]string{"pytorch"}, c.Allocators...) {
		candidate, err := compare.ParseCandidate(text)
		if err != nil {
			return err
		}
		candidates = append(candidates, candidate)
	}
	workload, err := c.workload(env)
	if err != nil {
		return err
	}
	dir, remove, err := scratch("gaugeblock-compare-", always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := compare.Build(candidates, dir); err != nil {
		return err
	}
	progress := newProgress(env.stderr, len(candidates), c.JSON)
	progress.counting = "%d of %d allocators"
	comparison, err := compare.Compare(workload, candidates, compare.Options{
		Limit: c.Limit.bytes, SmallestLimit: c.SmallestLimit, Times: c.Times, Directory: dir, Patience: c.Patience,
	}, progress.set)
	progress.finish()
	if err != nil {
		return err
	}
	return c.print(env, comparison, page)
}

func (c *comparingCommand) workload(env *environment) (*history.Workload, error) {
	as := whatifCommand{File: c.Workload, Device: c.Device, PyTorch: c.PyTorch, MaxMemory: c.MaxMemory, JSON: c.JSON}
	w, _, err := as.workload(env)
	return w, err
}

func (c *comparingCommand) print(env *environment, comparison *compare.Comparison, page *memoryreport.Output) error {
	for i := range comparison.Results {
		if comparison.Results[i].Error != "" {
			env.status = statusDiffers
		}
	}
	if page != nil {
		if err := page.WriteBy(func(to io.Writer) error { return comparison.WritePage(to, filepath.Base(c.Workload)) }); err != nil {
			return err
		}
	}
	out := &checkedWriter{to: env.stdout}
	if c.JSON {
		writeJSON(out, comparison)
	} else {
		io.WriteString(out, comparison.Text(terminalWidth(env.stdout)))
	}
	return out.err
}
