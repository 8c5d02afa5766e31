// Command gaugeblock is the reference for PyTorch's CUDA caching allocator, and the tools
// to check other allocators against it. It needs no GPU. A command parses its flags, calls
// the packages, and prints the results.
//
//	gaugeblock run -- COMMAND    run a PyTorch program on a fake GPU: what memory will it need?
//	gaugeblock fit -- COMMAND    the largest batch with which it fits
//	gaugeblock replay FILE...    replay traces and print the first difference
//	gaugeblock check FILE...     check the logs of other allocators
//	gaugeblock soak              test the reference with random programs
//	gaugeblock explore           explore all states of the model at small bounds
//	gaugeblock record            print a recorder for PyTorch programs
//	gaugeblock whatif FILE       predict a memory snapshot under other settings
//	gaugeblock report FILE...    show a memory snapshot as an HTML page, two side by side, or all ranks of a run
//	gaugeblock examine LIB.so    examine an allocator in another language
//	gaugeblock compare FILE LIB  make the requests of a recorded program of several allocators
//	gaugeblock torch             compare with PyTorch's own allocator, operation by operation
//	gaugeblock completion SHELL  print the completion of command lines for a shell
//	gaugeblock version           print the version
//
// The exit status is 0 when everything was exact, 1 when something differed or is
// not supported, 2 when the input or the command line made no sense, 3 when the memory or
// the disk did not suffice for an exploration, and 130 when soak or explore was ended with Ctrl-C
// or SIGTERM, or torch --edges with Ctrl-C. Another command that a signal ends leaves nothing of
// what it was about to write, and has the status of a shell: 130 after Ctrl-C, 143 after SIGTERM,
// 129 after SIGHUP.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/quote"
	"gaugeblock/internal/similar"
	"gaugeblock/tools/torch"
	"gaugeblock/upstream"
)

// Exit statuses.
const (
	statusExact = iota
	statusDiffers
	statusBadInput
	statusExhausted
	statusInterrupted = 130 // as a shell reports SIGINT
)

// commandLine is what kong reads the command line into.
type commandLine struct {
	Run        runCommand        `cmd:"" help:"Run a PyTorch program on a fake GPU, and tell what memory it needs."`
	Fit        fitCommand        `cmd:"" help:"Find the largest batch with which a PyTorch program fits a GPU."`
	Replay     replayCommand     `cmd:"" help:"Replay recorded traces through the reference allocator and compare."`
	Check      checkCommand      `cmd:"" help:"Check the logs of other allocators: hazards, overlaps, misuse, leaks."`
	Soak       soakCommand       `cmd:"" help:"Test the reference with random programs."`
	Record     recordCommand     `cmd:"" help:"Print a Python file that records the requests of a PyTorch program: gaugeblock record > gb_record.py."`
	Explore    exploreCommand    `cmd:"" help:"Explore every state that the model can reach at small bounds."`
	Whatif     whatifCommand     `cmd:"" help:"Predict the memory statistics of a PyTorch memory snapshot under other settings and limits."`
	Report     reportCommand     `cmd:"" help:"Show a PyTorch memory snapshot as one HTML page, compare two of them, or the ranks of a run: what happened, who holds the memory, segments and blocks, other settings."`
	Examine    examineCommand    `cmd:"" help:"Examine an allocator in another language: a library for PyTorch's CUDAPluggableAllocator."`
	Compare    comparingCommand  `cmd:"" help:"Make the requests of a recorded program of several allocators: which holds less memory?"`
	Torch      torchCommand      `cmd:"" help:"Compare the reference with PyTorch's own allocator, operation by operation."`
	Completion completionCommand `cmd:"" help:"Print the completion of command lines for a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version, and the releases of PyTorch that are followed."`

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

// environment is the standard streams of a command, and its exit status. What is written
// to stdout and stderr is quoted; page is standard output as it is, for files.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	page           io.Writer
	parser         *kong.Kong
	status         int
}

func main() {
	torch.Work() // serves, if this is a process that "gaugeblock torch" has started
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, problems := folded(stdout), folded(stderr)
	env := &environment{stdin: stdin, stdout: &quote.Writer{To: out}, stderr: &quote.Writer{To: problems}, page: stdout}
	defer flush(out, problems)
	helped := false
	env.parser = newParser(env, func(int) { helped = true })
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help": // of a command, or of all
		args = append(args[1:len(args):len(args)], "--help")
	}
	if len(args) == 2 && args[0] == "torch" && (args[1] == "--help" || args[1] == "-h") {
		args = []string{"torch", "compare", "--help"} // what it does without a word behind it: the library shows the words alone
	}
	parsed, err := env.parser.Parse(joinNegatives(args))
	if helped {
		return statusExact
	}
	if err != nil {
		message := shortMessage(quote.Text(err.Error())) + similarFlag(err)
		if commandOf(err) == "gaugeblock whatif" && strings.HasPrefix(message, "unexpected argument") {
			message += ": whatif takes one file; gaugeblock report A B compares two"
		}
		fmt.Fprintf(env.stderr, "gaugeblock: %s (%s --help tells more)\n", message, commandOf(err))
		return statusBadInput
	}
	if err := parsed.Run(env); err != nil {
		fmt.Fprintf(env.stderr, "gaugeblock: %s\n", messageOf(err))
		if exhausted := new(exhaustedError); errors.As(err, &exhausted) {
			return statusExhausted
		}
		return statusBadInput
	}
	return env.status
}

// joinNegatives joins a flag and a negative number behind it, so that the number is not taken for
// a flag of its own: what it means is for the flag to say.
func joinNegatives(args []string) (joined []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		if last := len(joined) - 1; last >= 0 && isNegative(arg) && strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") {
			joined[last] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

func isNegative(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && (arg[1] == '.' || arg[1] >= '0' && arg[1] <= '9')
}

// flush writes lines that have no end.
func flush(list ...io.Writer) {
	for _, w := range list {
		if folds, isFolded := w.(*foldWriter); isFolded {
			folds.flush()
		}
	}
}

// Of a longer message the beginning and the end are shown, in bytes. A file can have names and numbers of
// any length, and the place in it is said behind them.
const (
	messageBegin = 3 << 10
	messageEnd   = 1 << 10
)

// messageOf is the message of an error. Most quote the names in them; those of the system
// do not.
func messageOf(err error) string {
	message := err.Error()
	var system *fs.PathError
	if errors.As(err, &system) {
		message = strings.ReplaceAll(message, system.Path, quote.Text(system.Path))
	}
	return shortMessage(message)
}

func shortMessage(message string) string {
	if len(message) <= messageBegin+messageEnd {
		return message
	}
	return strings.ToValidUTF8(message[:messageBegin], "") + "..." + strings.ToValidUTF8(message[len(message)-messageEnd:], "")
}

// newParser makes the parser of command lines. It calls exit after --help and --version.
func newParser(env *environment, exit func(int)) *kong.Kong {
	return kong.Must(&commandLine{},
		kong.Name("gaugeblock"),
		kong.Description("A reference for PyTorch's CUDA caching allocator, and the means to check others against it."),
		kong.Writers(unquoted(env.stdout), env.stderr), // the library asks the terminal for its width
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"version": version(), "gpus": strings.Join(gpus.Words(), ", ")},
	)
}

// similarFlag asks about a flag of which the library does not ask: it knows no --no-FLAG.
func similarFlag(err error) string {
	var wrong *kong.ParseError
	flag, unknown := strings.CutPrefix(err.Error(), "unknown flag ")
	if !unknown || strings.Contains(flag, " ") || !errors.As(err, &wrong) || wrong.Context == nil || wrong.Context.Selected() == nil {
		return ""
	}
	return similar.Question(flag, longFlags(wrong.Context.Selected()))
}

// commandOf is the command that a wrong command line names: that whose help tells more.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil {
		if selected := wrong.Context.Selected(); selected != nil {
			return "gaugeblock " + strings.ReplaceAll(selected.Path(), "gaugeblock ", "")
		}
	}
	return "gaugeblock"
}

// versionCommand is "gaugeblock version".
type versionCommand struct{}

// Run prints the version of the build, and the releases of PyTorch.
func (*versionCommand) Run(env *environment) error {
	_, err := fmt.Fprintf(env.stdout, "%s\n%s", version(), releasesInWords())
	return err
}

// released is the version that tools/release gives a build.
var released string

func version() string {
	version := cmp.Or(released, "(unknown)")
	if info, ok := debug.ReadBuildInfo(); ok && released == "" {
		version = info.Main.Version
	}
	all := upstream.Releases()
	return fmt.Sprintf("gaugeblock %s, after PyTorch %s to %s, built with %s",
		version, all[0].Name, upstream.Newest().Name, runtime.Version())
}
