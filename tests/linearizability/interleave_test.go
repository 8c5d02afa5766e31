package linearizability

// The command interleave is this package's test binary with arguments. It searches the reference
// for interleavings of threads that it does not survive. The allocator is built with points
// (package points), at each of which the scheduler chooses.
//
//	go test ./tests/linearizability -v -args search -area pools -seed 3
//	go test ./tests/linearizability -v -args exhaust -preemptions 2 FILE
//	go test ./tests/linearizability -v -args replay FILE
//	go test ./tests/linearizability -v -args points
//
// A file has an explore command and its program, as a failure prints them; "-" is the standard
// input. The exit status is 0 if nothing fails, 1 if something does, 2 if it cannot be tried.
// -mutant names one of the mistakes of tests/broken/testdata/locks, which are built in.
import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"

	"gaugeblock/tests/linearizability/points"
)

func interleave(args []string) {
	if len(points.Sites) == 0 {
		rebuilt(args)
		return
	}
	// a run takes little memory and drops it all: collecting it often takes a third of the time
	debug.SetGCPercent(800)
	finding, err := interleaveCommand(args)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case finding != nil:
		os.Exit(1)
	}
}

// rebuilt builds the command with the points, and runs that instead.
func rebuilt(args []string) {
	err := func() error {
		dir, err := os.MkdirTemp("", "interleave")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		binary, err := build(dir)
		if err != nil {
			return err
		}
		run := exec.Command(binary, args...)
		run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
		return run.Run()
	}()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// options are the flags of all commands.
type options struct {
	area        string
	seed        uint64
	programs    int
	schedules   int
	preemptions int
	mutant      string
	long        bool
	asJSON      bool
}

// interleaveCommand runs a command, and returns what fails.
func interleaveCommand(args []string) (*Finding, error) {
	if len(args) == 0 {
		return nil, errors.New("usage: interleave search|exhaust|replay|points [flags] [file]")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.area, "area", "", "of the programs: "+strings.Join(areaNames(), ", ")+"; without, all in turn")
	flags.Uint64Var(&o.seed, "seed", 1, "of the first program; each has the next one")
	flags.IntVar(&o.programs, "programs", 300, "how many programs are drawn")
	flags.IntVar(&o.schedules, "schedules", 30, "how many random schedules each program is run under")
	flags.IntVar(&o.preemptions, "preemptions", 2, "exhaust: of a schedule, at most")
	flags.StringVar(&o.mutant, "mutant", "", "the mistake that is in force: "+strings.Join(points.Mutants, ", "))
	flags.StringVar(&points.LeftOut, "without", "", "a Lock that is left out with its Unlock, as points lists it: free.go:20")
	flags.BoolVar(&points.IgnoreRaces, "ignore-races", false, "look at results alone, not at data races")
	flags.BoolVar(&o.long, "long", false, "what is found is not shortened")
	flags.BoolVar(&o.asJSON, "json", false, "a line of JSON about what was done")
	if err := flags.Parse(args[1:]); err != nil {
		return nil, err
	}
	if o.mutant != "" && !slices.Contains(points.Mutants, o.mutant) {
		return nil, fmt.Errorf("there is no mutant %q", o.mutant)
	}
	points.Mutant = o.mutant
	switch args[0] {
	case "search":
		return o.search()
	case "exhaust", "replay":
		return o.file(args[0], flags.Arg(0))
	case "points":
		return nil, o.points()
	}
	return nil, fmt.Errorf("there is no command %q", args[0])
}

// summary is the line of JSON.
type summary struct {
	Programs    int    `json:"programs"`
	Runs        int    `json:"runs"`
	Area        string `json:"area,omitempty"`
	Seed        uint64 `json:"seed,omitempty"`        // of the program that fails
	FoundAfter  int    `json:"found_after,omitempty"` // runs
	Operations  int    `json:"operations,omitempty"`  // of the shortened program
	Steps       int    `json:"steps,omitempty"`       // of its schedule
	Preemptions int    `json:"preemptions,omitempty"` // of it
	Complete    bool   `json:"complete,omitempty"`    // exhaust: all schedules were run
	Detail      string `json:"detail,omitempty"`
}

func (o *options) report(s summary, f *Finding) (*Finding, error) {
	if f != nil {
		s.Operations, s.Steps, s.Preemptions, s.Detail = f.Length(), len(f.Schedule), f.Preemptions, f.Err.Error()
	}
	if o.asJSON {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		fmt.Println(string(line))
		return f, nil
	}
	fmt.Printf("%d programs, %d runs\n", s.Programs, s.Runs)
	if f != nil {
		fmt.Printf("seed %d of %s fails after %d runs; %d operations, %d steps, %d preemptions are enough:\n%s\n",
			s.Seed, s.Area, s.FoundAfter, s.Operations, s.Steps, s.Preemptions, s.Detail)
	}
	return f, nil
}

// search runs random programs under random schedules, and shortens what fails.
func (o *options) search() (*Finding, error) {
	s, f, err := o.find()
	if err != nil {
		return nil, err
	}
	if f != nil && !o.long {
		f = f.Shorten(failsSomehow).FewestPreemptions(mostSchedules)
	}
	return o.report(s, f)
}

// find runs random programs under random schedules until one fails.
func (o *options) find() (s summary, f *Finding, err error) {
	names := areaNames()
	if o.area != "" {
		names = strings.Split(o.area, ",")
	}
	for n := range o.programs {
		seed := o.seed + uint64(n)
		name := names[n%len(names)]
		a, known := areas[name]
		if !known {
			return s, nil, fmt.Errorf("there is no area %q", name)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		setup, program, err := a.draw(r)
		if err != nil {
			return s, nil, fmt.Errorf("area %s, seed %d: %w", name, seed, err)
		}
		f := &Finding{Setup: setup, Program: program}
		s.Programs++
		fails := f.TryRandomly(r, o.schedules)
		s.Runs += f.Runs
		if fails {
			s.Area, s.Seed, s.FoundAfter = name, seed, s.Runs
			return s, f, nil
		}
	}
	return s, nil, nil
}

// mostSchedules is how many schedules are run for one number of preemptions while a finding is
// shortened.
const mostSchedules = 2000

// failsSomehow tries a known schedule, as far as it applies, then all with few preemptions, then
// random ones.
func failsSomehow(f *Finding, schedule []int) bool {
	known, err := ParseSchedule(FormatSchedule(schedule))
	if err == nil && f.Try(known) {
		return true
	}
	for n := range 2 {
		if fails, _ := f.TryAll(n, mostSchedules/10); fails {
			return true
		}
	}
	return f.TryRandomly(rand.New(rand.NewPCG(1, 0)), 60)
}

// file runs the program of a file: under its schedule, or under all with few preemptions.
func (o *options) file(verb, path string) (*Finding, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	if err != nil {
		return nil, err
	}
	setup, program, schedule, err := ParseCommand(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &Finding{Setup: setup, Program: program}
	s := summary{Programs: 1}
	fails := false
	switch {
	case verb == "exhaust":
		fails, s.Complete = f.TryAll(o.preemptions, 1<<30)
	case schedule == nil:
		return nil, fmt.Errorf("%s: there is no schedule to replay", path)
	default:
		fails = f.Try(schedule)
	}
	s.Runs, s.FoundAfter = f.Runs, f.Runs
	if !fails {
		f = nil
	}
	return o.report(s, f)
}

// points lists the points of the source, and how often programs of all areas reach each.
func (o *options) points() error {
	reached := map[string]int{}
	OnRun = func(r *points.Run) {
		for position, n := range r.Reached() {
			reached[position] += n
		}
	}
	if _, _, err := o.find(); err != nil {
		return err
	}
	for _, site := range points.Sites {
		if !strings.Contains(site.Position, " of mutant ") {
			fmt.Printf("%d\t%s\t%s\t%s\t%s\t%s\n", reached[site.Position], site.Kind, site.Position, site.Function, site.Callee, site.Text)
		}
	}
	return nil
}
