package torch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/upstream"
)

// Search says what is searched.
type Search struct {
	PyTorch binary.Options // that has been built
	Areas   []string       // of conformance; none means all that can be compared

	// Settings, if given, begins every program with these instead of those of its area.
	Settings *string

	Operations int    // to be compared at least, over all areas
	Seed       uint64 // of the first program of each area
	Length     int    // operations of a program; 0 means 1,000
	Every      int    // operations between two looks at the layout; 0 means 100
	Workers    int    // processes; 0 means 1

	// Keep is how many unexplained differences are looked for before the search ends; 0
	// means 1. Each is made shorter and, if Directory is given, written there as a trace.
	Keep      int
	Directory string

	// Progress, if given, hears how many operations have been compared.
	Progress func(compared int)
}

// Report is what came of a search.
type Report struct {
	PyTorch     string         `json:"pytorch"` // its version; "" if it is not known
	Operations  int            `json:"operations"`
	Programs    int            `json:"programs"`
	Seconds     float64        `json:"seconds"`
	CPUSeconds  float64        `json:"cpu_seconds"` // of all workers
	Listed      map[string]int `json:"listed"`      // by the ID of the deviation
	Unexplained []Finding      `json:"unexplained"`
}

// Finding is a difference that no row explains, with the shortest program that was found.
type Finding struct {
	Area    string   `json:"area"`
	Seed    uint64   `json:"seed"`
	What    string   `json:"what"`
	Program []string `json:"program"` // in words
	Trace   string   `json:"trace,omitempty"`
	// Cplusplus is the file of the same program in C++; "": it cannot be written so.
	Cplusplus string `json:"cplusplus,omitempty"`
}

// String is the last line that a search writes.
func (r *Report) String() string {
	listed := 0
	for _, n := range r.Listed {
		listed += n
	}
	return fmt.Sprintf("%d operations compared, %d listed differences, %d unexplained", r.Operations, listed, len(r.Unexplained))
}

// Rows lists the deviations that were met, with how often.
func (r *Report) Rows() []string { return rowsMet(r.Listed) }

// rowsMet has a line for each deviation: how often it was met, and what PyTorch does.
func rowsMet(listed map[string]int) (lines []string) {
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		line := fmt.Sprintf("%8d  %s", listed[id], id)
		if d := upstream.FindDeviation(id); d != nil {
			line += ": " + d.Summary()
		}
		lines = append(lines, line)
	}
	return lines
}

// comparableAreas lists the areas of programs that both can perform. PyTorch's allocator is one a
// process, so nothing can open what it shares.
func comparableAreas() []string {
	var names []string
	for _, a := range conformance.Areas() {
		if a.Name != "sharing" {
			names = append(names, a.Name)
		}
	}
	return names
}

// search is one under way.
type search struct {
	Search
	mu     sync.Mutex
	report Report
	next   int // of the portions, which go round the areas
	failed error

	conditions Conditions // of all programs
}

// portion is how many programs a worker is given at a time.
const portion = 20

// Run searches. The error is one of the search itself.
func (s Search) Run() (Report, error) {
	if len(s.Areas) == 0 {
		s.Areas = comparableAreas()
	}
	for _, name := range s.Areas {
		if !slices.Contains(comparableAreas(), name) {
			return Report{}, fmt.Errorf("there is no area %q that can be compared; there are %s", name, strings.Join(comparableAreas(), ", "))
		}
	}
	run := &search{Search: s, report: Report{PyTorch: s.PyTorch.Version(), Listed: map[string]int{}}}
	run.conditions = Conditions{s.PyTorch.Release().Name, s.Settings, cmp.Or(s.Length, 1000), cmp.Or(s.Every, 100)}
	run.Workers, run.Keep = cmp.Or(s.Workers, 1), cmp.Or(s.Keep, 1)
	began := time.Now()
	var all sync.WaitGroup
	for range run.Workers {
		all.Go(run.work)
	}
	all.Wait()
	run.report.Seconds = time.Since(began).Seconds()
	return run.report, run.failed
}

// job is the next portion; nil if there is nothing more to do.
func (s *search) job() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || s.report.Operations >= s.Operations || len(s.report.Unexplained) >= s.Keep {
		return nil
	}
	round := s.next / len(s.Areas)
	j := &job{
		Area: s.Areas[s.next%len(s.Areas)], Seed: s.Seed + uint64(round*portion), Programs: portion,
		Conditions: s.conditions,
	}
	s.next++
	return j
}

func (s *search) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

// work lets one process work until there is nothing more to do.
func (s *search) work() {
	w, err := startWorker(s.PyTorch)
	if err != nil {
		s.fail(err)
		return
	}
	for j := s.job(); j != nil; j = s.job() {
		for j.Programs > 0 {
			if err := s.part(w, j); err != nil {
				s.fail(err)
				return
			}
		}
	}
	if err := w.stop(); err != nil {
		s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.CPUSeconds += w.used.Seconds()
}

// part performs the programs of a job up to a crash, if there is one.
func (s *search) part(w *worker, j *job) error {
	r, crash, err := w.do(j)
	if err != nil {
		return err
	}
	done := j.Programs
	if crash != nil {
		o, err := s.crashed(j, crash)
		if err != nil {
			return err
		}
		done = int(crash.Seed-j.Seed) + 1
		r = reply{Operations: crash.Before + crash.Operation, Outcomes: []Outcome{o}}
	}
	s.count(&r, done)
	for _, o := range r.Outcomes {
		if o.Row == "" {
			if err := s.unexplained(w, j.Area, o); err != nil {
				return err
			}
		}
	}
	j.Seed += uint64(done)
	j.Programs -= done
	return nil
}

func (s *search) count(r *reply, programs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Operations += r.Operations
	s.report.Programs += programs
	for row, n := range r.Listed {
		s.report.Listed[row] += n
	}
	for _, o := range r.Outcomes {
		if o.Row != "" {
			s.report.Listed[o.Row]++
		}
	}
	if s.Progress != nil {
		s.Progress(s.report.Operations)
	}
}

// crashed makes up the program once more in which a worker has crashed. Up to the crash both
// did the same, so the reference alone leads to it.
func (s *search) crashed(j *job, crash *Crash) (Outcome, error) {
	o := Outcome{Difference: crash.difference(), Every: j.Every}
	var err error
	if o.Header, o.Ops, err = madeUp(j.Area, crash.Seed, j.Conditions, crash.Operation, func(*trace.Op, *perform.Result) {}); err != nil {
		return Outcome{}, err
	}
	o.Row, err = explain(&o)
	return o, err
}

// madeUp makes up a program as a worker does, with so many operations, by the reference alone. told hears what
// came of each.
func madeUp(area string, seed uint64, c Conditions, length int, told func(*trace.Op, *perform.Result)) (h trace.Header, ops []trace.Op, err error) {
	source, h := conformance.Find(area).NewSource(conformance.Seeded(seed), seed, c.header)
	player, err := perform.New(&h, reference.New)
	if err != nil {
		return h, nil, err
	}
	prepare(source.Program(), &h)
	made := newMaker(source, h, seed)
	for len(ops) < length {
		var op trace.Op
		if !made.make(&op) {
			continue
		}
		ops = append(ops, op)
		out := player.Perform(&op)
		told(&op, &out)
		made.did(&op, &out)
	}
	return h, ops, nil
}

// unexplained makes the program shorter and writes it down.
func (s *search) unexplained(w *worker, area string, o Outcome) error {
	s.mu.Lock()
	enough := len(s.report.Unexplained) >= s.Keep
	s.mu.Unlock()
	if enough {
		return nil
	}
	seed := uint64(o.Header.Seed)
	o, err := minimise(w, area, o)
	if err != nil {
		return err
	}
	if o.Row != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report.Listed[o.Row]++
		return nil
	}
	f := Finding{Area: area, Seed: seed, What: o.Difference.Error()}
	for i := range o.Ops {
		f.Program = append(f.Program, o.Ops[i].InWords())
	}
	if s.Directory != "" {
		if err := f.write(filepath.Join(s.Directory, fmt.Sprintf("%s-%d", f.Area, f.Seed)), &o, f.What); err != nil {
			f.Trace = "nowhere: " + err.Error() // a program that the format of traces does not allow
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Unexplained = append(s.report.Unexplained, f)
	return nil
}

// write writes the program to files whose names begin so.
func (f *Finding) write(name string, o *Outcome, what string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f.Trace = name + ".jsonl"
	if err := trace.WriteFile(f.Trace, o.Header, o.Ops, nil); err != nil {
		return err
	}
	text, can := cplusplus(&o.Header, o.Ops, aboutProgram(&o.Header, what))
	if !can {
		return nil
	}
	f.Cplusplus = name + ".cc"
	return os.WriteFile(f.Cplusplus, []byte(text), 0o644)
}
