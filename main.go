// Command gaugeblock checks recorded runs of PyTorch's CUDA caching allocator
// against this module's reference allocator. It needs no GPU.
//
//	gaugeblock replay FILE...    replay traces and tell the first difference
//	gaugeblock check FILE...     judge the logs of other allocators
//	gaugeblock soak              search the reference for faults, at random
//	gaugeblock explore           look at every state of the model at small bounds
//	gaugeblock record            print a recorder for PyTorch programs
//	gaugeblock whatif FILE       replay a memory snapshot under other settings
//	gaugeblock report FILE       draw a memory snapshot as a page to look at
//	gaugeblock torch             compare with PyTorch's own allocator
//	gaugeblock version           tell what this is
//
// The exit status is 0 when everything was exact, 1 when something differed or is
// not supported, and 2 when the input or the command line made no sense.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"gaugeblock/tests/torch"
)

// Exit statuses.
const (
	statusExact = iota
	statusDiffers
	statusBadInput
)

// commandLine is what kong reads the command line into.
type commandLine struct {
	Replay  replayCommand  `cmd:"" help:"Replay recorded traces through the reference allocator and compare."`
	Check   checkCommand   `cmd:"" help:"Judge the logs of other allocators: hazards, overlaps, misuse, leaks."`
	Soak    soakCommand    `cmd:"" help:"Search the reference for faults with random programs."`
	Record  recordCommand  `cmd:"" help:"Print a Python file that records what a PyTorch program asks of its allocator: gaugeblock record > gb_record.py."`
	Explore exploreCommand `cmd:"" help:"Look at every state that the model can reach at small bounds."`
	Whatif  whatifCommand  `cmd:"" help:"Replay a PyTorch memory snapshot under other settings and limits, and say which would have been best."`
	Report  reportCommand  `cmd:"" help:"Draw a PyTorch memory snapshot as one HTML page: what lay where, what kept it, and what other settings would have done."`
	Torch   torchCommand   `cmd:"" help:"Compare the reference with PyTorch's own allocator, operation by operation."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// environment is what a command works with, and what it leaves behind.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int
}

func main() {
	if serving, err := torch.Work(); serving { // this is a process that "gaugeblock torch" has started
		if err != nil {
			fmt.Fprintln(os.Stderr, "gaugeblock:", err)
			os.Exit(statusBadInput)
		}
		return
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	helped := false
	var line commandLine
	parser := kong.Must(&line,
		kong.Name("gaugeblock"),
		kong.Description("A reference for PyTorch's CUDA caching allocator, and the means to check others against it."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }), // kong exits after --help only
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	parsed, err := parser.Parse(args)
	if helped {
		return statusExact
	}
	if err != nil {
		fmt.Fprintf(stderr, "gaugeblock: %v (gaugeblock --help tells more)\n", err)
		return statusBadInput
	}
	env := &environment{stdin: stdin, stdout: stdout, stderr: stderr}
	if err := parsed.Run(env); err != nil {
		fmt.Fprintf(stderr, "gaugeblock: %v\n", err)
		return statusBadInput
	}
	return env.status
}

// versionCommand is "gaugeblock version".
type versionCommand struct{}

// Run prints which build this is, and which PyTorch it follows.
func (*versionCommand) Run(env *environment) error {
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(env.stdout, "gaugeblock %s, after PyTorch 2.11.0, built with %s\n", version, runtime.Version())
	return err
}
