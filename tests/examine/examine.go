package examine

import (
	"fmt"
	"path/filepath"
	"time"

	"gaugeblock/spec"
	"gaugeblock/tests/conformance"
	"gaugeblock/tests/reference"
)

// Search says what is examined, and how.
type Search struct {
	Library string // a shared library
	Malloc  string // its function that allocates; "" finds it
	Free    string // its function that frees; "" finds it
	// Contract is in the words of docs/examine.md; "" asks the library (gaugeblock_contract).
	Contract string

	Level      conformance.Level
	Operations int           // to be checked at least; 0 means 60,000
	Seed       uint64        // of the first program; 0 means 1
	Patience   time.Duration // how long a call may take; 0 means 10 s
	Directory  string        // the programs of violations are written there; "": nowhere

	Build string // the directory of Build
}

// Report is what came of it.
type Report struct {
	*conformance.Report
	Functions Functions
	Contract  Contract
}

// examination is one under way.
type examination struct {
	library  *library
	contract Contract
}

// Run examines. The error is one of the examination: the library cannot be loaded, or the
// words make no sense.
func (s Search) Run() (*Report, error) {
	path, err := filepath.Abs(s.Library)
	if err != nil {
		return nil, err
	}
	functions, err := FindFunctions(path, s.Malloc, s.Free)
	if err != nil {
		return nil, err
	}
	x := &examination{library: &library{directory: s.Build, path: path, functions: functions, patience: s.Patience}}
	if x.library.patience == 0 {
		x.library.patience = 10 * time.Second
	}
	defer x.library.close()
	words := s.Contract
	if words == "" {
		if words, err = x.askContract(); err != nil {
			return nil, err
		}
	}
	if x.contract, err = ParseContract(words, functions.RecordStream != ""); err != nil {
		return nil, err
	}
	report, err := conformance.Examine(x.newAllocator, s.Level, s.options(x)...)
	if err != nil {
		return nil, err
	}
	return &Report{Report: report, Functions: functions, Contract: x.contract}, nil
}

// options are the kit's.
func (s *Search) options(x *examination) []conformance.Option {
	options := []conformance.Option{
		conformance.ForContract(x.contract.Contract), conformance.AsHardware(), conformance.TrustsCallers(),
		conformance.Settings(""), conformance.Align(x.contract.Align),
		conformance.Against(reference.New),
	}
	if x.contract.Limited {
		options = append(options, conformance.HasLimit())
	}
	if x.library.functions.Reset == "" {
		options = append(options, conformance.Keeps(conformance.KeepsAll))
	} else {
		options = append(options, conformance.Keeps(conformance.KeepsNoMemory))
	}
	if x.contract.Aborts {
		options = append(options, conformance.Faults())
	} else {
		options = append(options, conformance.Faults(
			spec.FaultSpec{Call: "Malloc", Error: spec.FaultOutOfMemory}, spec.FaultSpec{Call: "ReserveAddress", Error: spec.FaultOutOfMemory},
			spec.FaultSpec{Call: "CreatePage", Error: spec.FaultOutOfMemory}, spec.FaultSpec{Call: "MapPage", Error: spec.FaultOutOfMemory}))
	}
	if s.Operations > 0 {
		options = append(options, conformance.Operations(s.Operations))
	}
	if s.Seed > 0 {
		options = append(options, conformance.Seed(s.Seed))
	}
	if s.Directory != "" {
		options = append(options, conformance.Traces(s.Directory))
	}
	return options
}

// String is the report for people.
func (r *Report) String() string {
	return fmt.Sprintf("functions: %s and %s; contract: %v\n%v", r.Functions.Malloc, r.Functions.Free, r.Contract, r.Report)
}

// askContract loads the library once and asks it.
func (x *examination) askContract() (string, error) {
	if x.library.functions.Contract == "" {
		return "", nil
	}
	if err := x.library.begin(newGPU()); err != nil {
		return "", err
	}
	return x.library.contract, nil
}
