// Command gaugeblock is the reference for PyTorch's CUDA caching allocator, and the tools
// to check other allocators against it. It needs no GPU. A command parses its flags, calls
// the packages, and prints the results.
//
//	gaugeblock replay FILE...    replay traces and print the first difference
//	gaugeblock check FILE...     check the logs of other allocators
//	gaugeblock soak              test the reference with random programs
//	gaugeblock explore           explore all states of the model at small bounds
//	gaugeblock record            print a recorder for PyTorch programs
//	gaugeblock whatif FILE       predict a memory snapshot under other settings
//	gaugeblock report FILE       show a memory snapshot as an HTML page
//	gaugeblock examine LIB.so    examine an allocator in another language
//	gaugeblock torch             compare with PyTorch's own allocator, operation by operation
//	gaugeblock version           print the version
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
	Check   checkCommand   `cmd:"" help:"Check the logs of other allocators: hazards, overlaps, misuse, leaks."`
	Soak    soakCommand    `cmd:"" help:"Test the reference with random programs."`
	Record  recordCommand  `cmd:"" help:"Print a Python file that records the requests of a PyTorch program: gaugeblock record > gb_record.py."`
	Explore exploreCommand `cmd:"" help:"Explore every state that the model can reach at small bounds."`
	Whatif  whatifCommand  `cmd:"" help:"Predict the memory statistics of a PyTorch memory snapshot under other settings and limits."`
	Report  reportCommand  `cmd:"" help:"Show a PyTorch memory snapshot as one HTML page: allocated and reserved memory over time, segments and blocks, and other settings."`
	Examine examineCommand `cmd:"" help:"Examine an allocator in another language: a library for PyTorch's CUDAPluggableAllocator."`
	Torch   torchCommand   `cmd:"" help:"Compare the reference with PyTorch's own allocator, operation by operation."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// environment is the standard streams of a command, and its exit status.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int
}

func main() {
	torch.Work() // serves, if this is a process that "gaugeblock torch" has started
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit status.
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
		fmt.Fprintf(stderr, "gaugeblock: %v (see gaugeblock --help)\n", err)
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

// Run prints the version of the build and of PyTorch.
func (*versionCommand) Run(env *environment) error {
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(env.stdout, "gaugeblock %s, after PyTorch 2.11.0, built with %s\n", version, runtime.Version())
	return err
}
