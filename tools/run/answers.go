package run

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An Answer is what one process of the program has written: python/site/gaugeblock_run.py.
type Answer struct {
	PID   int    `json:"pid"`
	Torch string `json:"torch"`
	Rank  string `json:"rank,omitempty"`
	Steps int    `json:"steps"` // of optimizers
	// NoValues is why values of integers were not kept. Decisions are how often which line has read an
	// integer, a boolean or a count that is not known, and FloatsRead the same of floating-point
	// numbers.
	NoValues   string         `json:"no_values,omitempty"`
	Decisions  map[string]int `json:"decisions,omitempty"`
	FloatsRead map[string]int `json:"floats_read,omitempty"`
	// Turned is how often which line, in a loop that waited for it, has read another value than what is assumed of values that are not known.
	Turned map[string]int `json:"turned,omitempty"`
	// StreamsRecorded is how often which line has called record_stream, if Options.Streams.
	StreamsRecorded map[string]int `json:"streams_recorded,omitempty"`
	CuDNN           CuDNN          `json:"cudnn"`

	Uncaught string        `json:"uncaught,omitempty"` // the exception that ended it
	OOMs     []OutOfMemory `json:"ooms"`
	// OtherAllocator is PyTorch's name of an allocator that the program has chosen instead of PyTorch's own:
	// cudaMallocAsync, or pluggable. What it allocates is not followed.
	OtherAllocator string   `json:"other_allocator,omitempty"`
	Devices        []Device `json:"devices"`
	Snapshot       string   `json:"snapshot,omitempty"`
}

// CuDNN is what is not known of the workspaces that plans of cuDNN (convolutions, attention) were asked for.
type CuDNN struct {
	Asked           int    `json:"asked"`
	WithoutLibrary  int    `json:"without_library,omitempty"`  // taken as 0: NVIDIA's library was not asked
	NotCompiled     int    `json:"not_compiled,omitempty"`     // taken as 0: it has no compiler for them
	Estimated       int    `json:"estimated,omitempty"`        // its estimate without a driver
	LargestEstimate uint64 `json:"largest_estimate,omitempty"` // bytes
	There           bool   `json:"there"`                      // NVIDIA's library is installed
	Off             bool   `json:"off,omitempty"`              // Options.NoCuDNN
	Wheel           string `json:"wheel,omitempty"`            // of NVIDIA's library for the program's PyTorch, as pip names it
	Compiler        string `json:"compiler,omitempty"`         // likewise
}

// A Device is the allocator's statistics of a device at the end, in bytes or as numbers of calls.
type Device struct {
	Device            int    `json:"device"`
	Total             uint64 `json:"total"`
	PeakReserved      uint64 `json:"peak_reserved"`
	PeakAllocated     uint64 `json:"peak_allocated"`
	Reserved          uint64 `json:"reserved"`
	Allocated         uint64 `json:"allocated"`
	Allocations       uint64 `json:"allocations"`
	Retries           uint64 `json:"retries"`
	OOMs              uint64 `json:"ooms"`
	DriverAllocations uint64 `json:"driver_allocations"`
	DriverFrees       uint64 `json:"driver_frees"`
}

// OutOfMemory is a request that the allocator could not serve. Sizes are in bytes.
type OutOfMemory struct {
	By        string `json:"by,omitempty"` // the library that asked; "": PyTorch's allocator
	Device    int    `json:"device"`
	Asked     uint64 `json:"asked"`
	Limit     uint64 `json:"limit"` // memory of the device, or less if the program has set a limit
	Free      uint64 `json:"free"`  // on the device
	Step      int    `json:"step"`
	At        string `json:"at,omitempty"` // the program's line
	Reserved  uint64 `json:"reserved"`
	Allocated uint64 `json:"allocated"`
}

// lackingFile is where the libraries write the names of functions that were asked for and are not
// there.
const lackingFile = "lacking"

// loadedFile is written by a Python that has loaded python/site.
const loadedFile = "loaded"

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// collect reads the answers of all processes, in the order of their ranks and process numbers.
func collect(folder string) (*Result, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	for _, f := range files {
		var a Answer
		if err := readJSON(f, &a); err != nil {
			return nil, err
		}
		r.Processes = append(r.Processes, a)
	}
	slices.SortFunc(r.Processes, func(a, b Answer) int {
		if len(a.Rank) != len(b.Rank) {
			return len(a.Rank) - len(b.Rank)
		}
		if a.Rank != b.Rank {
			return strings.Compare(a.Rank, b.Rank)
		}
		return a.PID - b.PID
	})
	if r.Unanswered, err = unanswered(folder); err != nil {
		return nil, err
	}
	r.Lacking = linesOf(filepath.Join(folder, lackingFile))
	return r, nil
}

// unanswered are the processes that have begun to use a GPU, and have written no answer.
func unanswered(folder string) (pids []int, err error) {
	begun, err := filepath.Glob(filepath.Join(folder, "*.begun"))
	for _, file := range begun {
		name := strings.TrimSuffix(file, ".begun")
		pid, unknown := strconv.Atoi(filepath.Base(name))
		if _, lacks := os.Stat(name + ".json"); lacks != nil && unknown == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}

// linesOf are the different lines of a file, which need not be there.
func linesOf(path string) (lines []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
