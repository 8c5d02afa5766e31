package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/tools/examine"
)

// examineCommand is "gaugeblock examine".
type examineCommand struct {
	Python   string        `name:"python" placeholder:"FILE" help:"Examine a module in Python with functions malloc, free and so on: tools/examine/README.md."`
	Subject  []string      `arg:"" optional:"" name:"subject" help:"A shared library (its name ends in .so) with PyTorch's functions for a pluggable allocator; or, behind --, a program that speaks the line protocol of tools/examine/README.md, and its arguments."`
	Alloc    string        `name:"alloc" placeholder:"NAME" help:"The function that allocates (default: found among the exported functions)."`
	Free     string        `name:"free" placeholder:"NAME" help:"The function that frees."`
	Contract string        `name:"contract" placeholder:"WORDS" help:"What callers do before they free, and more: tools/examine/README.md (default: what the library says, or record_stream if it has that function, or joined)."`
	Level    string        `name:"level" placeholder:"LEVEL" help:"safe, caching or exact: fail below this level (default: search up to caching, and fail below safe)."`
	Ops      int           `name:"ops" default:"60000" placeholder:"N" help:"Check at least N operations (default: 60000)."`
	Seed     uint64        `name:"seed" default:"1" placeholder:"S" help:"Begin with the programs of this seed (default: 1)."`
	Devices  int           `name:"devices" default:"3" placeholder:"N" help:"Programs with at most N devices (default: 3)."`
	Patience time.Duration `name:"patience" default:"10s" placeholder:"T" help:"A call that takes longer hangs (default: 10s)."`
	Replay   string        `name:"replay" placeholder:"FILE" help:"Perform only the program of a violation, from the trace that was written of it; with the same contract."`
	Out      string        `name:"out" default:"gaugeblock-violations" placeholder:"DIR" help:"Write the programs of violations to this directory (default: gaugeblock-violations, which git ignores)."`
	JSON     bool          `name:"json" help:"Print nothing but a JSON object."`
}

// Help is what "gaugeblock examine --help" says beside the flags.
func (*examineCommand) Help() string {
	return `An allocator that is not written in Go is loaded in a process of its own, on a fake GPU;
no GPU is needed. Random programs are performed on it, with streams, slow work, several
devices, and driver calls that run out of memory. What is looked for: memory that two
owners have at once, or that is used again while work still uses it; crashes, aborts and
hangs; memory that is lost; and how well freed memory is used again. Each rule that is
broken is reported with the shortest program that was found. See tools/examine/README.md.

An allocator in any other language is a program that speaks the line protocol: it reads
requests (begin, malloc, free ...) from its standard input, one JSON object a line, and
writes its calls of the driver and its answers to its standard output:

    gaugeblock examine -- ./driver ARGUMENTS

A violation's trace is performed again, and nothing else, by

    gaugeblock examine --replay FILE.jsonl -- ./driver ARGUMENTS

The exit status is 0 when the level is reached, 1 when it is not, 2 when the command line
made no sense or the library cannot be examined.`
}

var examineLevels = map[string]conformance.Level{
	"": conformance.Caching, "safe": conformance.Safe, "caching": conformance.Caching, "exact": conformance.Exact,
}

// Validate is called by kong.
func (c *examineCommand) Validate() error {
	_, known := examineLevels[c.Level]
	switch {
	case (c.Python == "") == (len(c.Subject) == 0):
		return errors.New("what is examined is either a library, or a program behind --, or a module by --python")
	case !known:
		return fmt.Errorf("--level=%s: it is one of safe, caching and exact", c.Level)
	case c.Ops < 1:
		return fmt.Errorf("--ops=%d: at least one operation has to be checked", c.Ops)
	case c.Devices < 1:
		return fmt.Errorf("--devices=%d: a program has at least one", c.Devices)
	case c.Patience <= 0:
		return fmt.Errorf("--patience=%v: a call needs some time", c.Patience)
	case !c.isOfLibrary() && (c.Alloc != "" || c.Free != ""):
		return errors.New("--alloc and --free name functions of a library, and this is a program")
	}
	return checkOut(c.Out)
}

// isOfLibrary reports whether a shared library is examined, and not a program.
func (c *examineCommand) isOfLibrary() bool { return len(c.Subject) == 1 && isLibrary(c.Subject[0]) }

// Run examines, and prints what came of it.
func (c *examineCommand) Run(env *environment) (err error) {
	build, remove, err := scratch("gaugeblock-examine-", always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	level := examineLevels[c.Level]
	search := examine.Search{
		Malloc: c.Alloc, Free: c.Free, Contract: c.Contract, Level: level,
		Operations: c.Ops, Seed: c.Seed, Patience: c.Patience, Devices: c.Devices, Directory: c.Out, Build: build, Again: c.Replay,
	}
	if c.Python != "" {
		search.Python = c.Python
		if err := examine.Build(build); err != nil {
			return err
		}
	} else if c.isOfLibrary() {
		search.Library = c.Subject[0]
		if _, err := search.Functions(); err != nil {
			return err // before anything is built
		}
		if err := examine.Build(build); err != nil {
			return err
		}
	} else {
		search.Command = c.Subject
	}
	progress := newProgress(env.stderr, c.Ops, c.JSON)
	progress.counting = "%d of %d operations"
	search.Progress = progress.set
	report, err := search.Run()
	progress.set(c.Ops)
	progress.finish()
	if err != nil {
		return err
	}
	if c.Level == "" {
		level = conformance.Safe
	}
	if report.Reached < level || report.Replay && len(report.Violations) > 0 {
		env.status = statusDiffers
	}
	if c.JSON {
		return json.NewEncoder(env.stdout).Encode(report.Summary())
	}
	_, err = io.WriteString(env.stdout, report.String())
	return err
}

// isLibrary reports whether a file's name is that of a shared library: lib.so, lib.so.1.
func isLibrary(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.")
}
