package examine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/internal/quote"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// Search says what is examined, and how.
type Search struct {
	Library string   // a shared library; "": a Command is examined
	Command []string // a program that speaks the line protocol, and its arguments
	Python  string   // a module in Python; Library is "" then
	Malloc  string   // its function that allocates; "" finds it
	Free    string   // its function that frees; "" finds it
	// Contract is in the words of tools/examine/README.md; "" asks the library
	// (gaugeblock_contract).
	Contract string

	Level      conformance.Level
	Operations int            // to be checked at least; 0 means 60,000
	Seed       uint64         // of the first program; 0 means 1
	Patience   time.Duration  // how long a call may take; 0 means 10 s
	Devices    int            // areas with more devices are left out; 0: none
	Again      string         // a trace of a violation: only its program is performed; "": a search
	Progress   func(done int) // hears how many operations were checked; nil: nobody does
	Directory  string         // the programs of violations are written there; "": nowhere. Git ignores one named as Violations says

	Build string // the directory of Build
}

// examination is one under way.
type examination struct {
	subject  subject
	contract Contract
}

// Run examines. The error is one of the examination: the library cannot be loaded, or the
// words make no sense.
func (s Search) Run() (*Report, error) {
	x, err := s.open()
	if err != nil {
		return nil, err
	}
	defer x.subject.close()
	options := s.options(x)
	if s.Again != "" {
		h, ops, _, err := trace.ReadFile(s.Again)
		if err != nil {
			return nil, err
		}
		options = append(options, conformance.Again(h, ops))
	}
	report, err := conformance.Examine(x.newAllocator, s.Level, options...)
	if err != nil {
		return nil, err
	}
	r := &Report{Report: report, Functions: x.subject.named(), Contract: x.contract, Returns: x.subject.empties() || x.subject.can().ends, Lacking: x.subject.lacking()}
	return r, errors.Join(s.writeAll(r), s.hideFromGit())
}

// open starts what is examined, and learns its contract.
func (s *Search) open() (*examination, error) {
	subject, err := s.subject()
	if err != nil {
		return nil, err
	}
	x := &examination{subject: subject}
	if err = subject.begin(newGPU()); err == nil {
		x.contract, err = ParseContract(cmp.Or(s.Contract, subject.contract()), subject.records())
	}
	if err != nil {
		subject.close()
		return nil, err
	}
	return x, nil
}

// Subject is what a Search names, for the programs of a caller. Its calls panic with a
// *conformance.Gone if its process ends, or does not answer.
type Subject struct{ examination *examination }

// Open starts what is examined: Library with what is in Build, or Command.
func (s Search) Open() (*Subject, error) {
	x, err := s.open()
	if err != nil {
		return nil, err
	}
	return &Subject{x}, nil
}

// New begins a new allocator on a fake GPU. It is a replay.Factory.
func (s *Subject) New(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	return s.examination.newAllocator(driver, h)
}

// Close ends its processes.
func (s *Subject) Close() { s.examination.subject.close() }

// subject is what is examined. It has not begun.
func (s *Search) subject() (subject, error) {
	patience := cmp.Or(s.Patience, 10*time.Second)
	if s.Python != "" {
		return s.module(patience)
	}
	if s.Library == "" {
		if err := checkRunnable(s.Command[0]); err != nil {
			return nil, err
		}
		c := &command{arguments: s.Command}
		c.patience.Store(int64(patience))
		return c, nil
	}
	path, err := filepath.Abs(s.Library)
	if err != nil {
		return nil, err
	}
	functions, err := s.Functions()
	l := &library{directory: s.Build, path: path, functions: functions}
	l.patience.Store(int64(patience))
	return l, err
}

// module is a module in Python, by the python3 of the path.
func (s *Search) module(patience time.Duration) (subject, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, errors.New("there is no python3")
	}
	path, err := filepath.Abs(s.Python)
	if err != nil {
		return nil, err
	}
	if there, err := os.Stat(path); err == nil && !there.IsDir() && !there.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no module: it is no regular file", quote.Text(s.Python))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &library{directory: s.Build, path: path, python: python}
	l.functions = functionsOfModule(string(text))
	l.patience.Store(int64(patience))
	return l, nil
}

// functionsOfModule are those that a module's text defines.
func functionsOfModule(text string) (f Functions) {
	for name, to := range map[string]*string{
		"malloc": &f.Malloc, "free": &f.Free, "record_stream": &f.RecordStream, "empty_cache": &f.Reset, "init": &f.Init,
		"malloc_aligned": &f.MallocAligned, "resize": &f.Resize, "sleep": &f.Sleep, "wake": &f.Wake, "end": &f.End,
	} {
		if regexp.MustCompile(`(?m)^(def ` + name + `\(|` + name + ` *=)`).MatchString(text) {
			*to = name
		}
	}
	return f
}

// Functions finds the functions of the library, which needs nothing that is built.
func (s *Search) Functions() (Functions, error) {
	path, err := filepath.Abs(s.Library)
	if err != nil {
		return Functions{}, err
	}
	return FindFunctions(path, s.Malloc, s.Free)
}

// options are the kit's.
func (s *Search) options(x *examination) []conformance.Option {
	can, contract := x.subject.can(), x.contract.Contract
	contract.Aligned, contract.Resizes, contract.Sleeps = can.aligns, can.resizes, can.sleeps
	contract.OnHost = x.contract.Memory != ""
	options := []conformance.Option{
		conformance.ForContract(contract), conformance.AsHardware(), conformance.TrustsCallers(),
		conformance.Settings(""), conformance.Align(x.contract.Align),
		conformance.Against(reference.New),
	}
	if x.contract.Limited {
		options = append(options, conformance.HasLimit())
	}
	if x.subject.empties() || can.ends {
		options = append(options, conformance.Keeps(conformance.KeepsNoMemory))
	} else {
		options = append(options, conformance.Keeps(conformance.KeepsAll))
	}
	if x.contract.Keeps > 0 {
		options = append(options, conformance.MayKeep(x.contract.Keeps))
	}
	if x.contract.Aborts {
		options = append(options, conformance.Roomy())
	}
	options = append(options, conformance.Faults(x.contract.faults()...))
	if s.Devices > 0 {
		options = append(options, conformance.MostDevices(s.Devices))
	}
	if s.Operations > 0 {
		options = append(options, conformance.Operations(s.Operations))
	}
	if s.Seed > 0 {
		options = append(options, conformance.Seed(s.Seed))
	}
	if s.Progress != nil {
		options = append(options, conformance.Progress(s.Progress))
	}
	if s.Directory != "" {
		options = append(options, conformance.Traces(s.Directory))
	}
	return options
}
