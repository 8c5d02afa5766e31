package examine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestAnswers: what allocators are asked by random programs, what is read of random contracts and names of functions,
// and the programs of random operations stay as they were.
func TestAnswers(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(48) {
		r := rand.New(rand.NewPCG(seed, 374001))
		fmt.Fprintf(&out, "== %d\n", seed)
		randomContract(&out, r)
		randomNames(&out, r)
		randomProgram(&out, r)
		newAsked(r).program(&out)
	}
	kept.Compare(t, "testdata/answers", out.String())
}

func randomContract(out *strings.Builder, r *rand.Rand) {
	words := []string{"align=64", "align=3", "align=0", "keeps=1MiB", "keeps=0", "keeps=much", "kindly"}
	for _, w := range contractWords {
		words = append(words, w.word, w.word)
	}
	var text []string
	for range r.IntN(5) {
		text = append(text, words[r.IntN(len(words))])
	}
	given := strings.Join(text, []string{",", " ", ", "}[r.IntN(3)])
	records := r.IntN(2) == 0
	c, err := ParseContract(given, records)
	s := Search{Level: conformance.Safe, Seed: r.Uint64N(2), Devices: r.IntN(2), Operations: r.IntN(2)}
	if r.IntN(2) == 0 {
		s.Directory, s.Progress = "somewhere", func(int) {}
	}
	x := &examination{subject: newAsked(r), contract: c}
	fmt.Fprintf(out, "contract %q, records %v: %v %v %+v %v; %d options\n", given, records, c, err, c, c.faults(), len(s.options(x)))
}

// randomNames draws what a library exports, and tells what is found in it.
func randomNames(out *strings.Builder, r *rand.Rand) {
	words := []string{
		"malloc", "free", "alloc", "dealloc", "allocate", "deallocate", "record_stream", "init", "reset", "empty_cache",
		"malloc_aligned", "resize", "sleep", "wake", "end", "gaugeblock_contract",
	}
	var names []string
	for range r.IntN([]int{6, 12, 30}[r.IntN(3)]) {
		names = append(names, []string{"my_", "my_", "", "your_"}[r.IntN(4)]+words[r.IntN(len(words))])
	}
	malloc, free, err := findPair("lib.so", names)
	f := Functions{Malloc: malloc, Free: free}
	f.findHooks(names)
	symbol := fmt.Sprintf("%s%d%s", []string{"_Z", "_Z", "_ZN", ""}[r.IntN(4)], r.IntN(12), []string{"my_malloc", "free", ""}[r.IntN(3)])
	module := functionsOfModule(moduleOf(r, names))
	fmt.Fprintf(out, "%s: %v %v %+v; of a module: %v; %s is %q\n", listed(names), err, f.roles(), f.can(), module.roles(), symbol, nameInCplusplus(symbol))
}

// moduleOf is a module of Python that defines functions, as it should or in the middle of a line.
func moduleOf(r *rand.Rand, names []string) string {
	var b strings.Builder
	for _, name := range names {
		name = strings.TrimPrefix(name, "my_")
		fmt.Fprintf(&b, []string{"def %s(size):\n\tpass\n", "%s = other\n", "# def %s(size):\n", "x = 1; %s = 2\n", "%s= 3\n"}[r.IntN(5)], name)
	}
	return b.String()
}

// randomProgram writes a program of operations in both languages.
func randomProgram(out *strings.Builder, r *rand.Rand) {
	kinds := []trace.OpKind{
		trace.OpMalloc, trace.OpFree, trace.OpFreeOn, trace.OpRecordStream, trace.OpEmptyCache, trace.OpResize, trace.OpSleep, trace.OpWake, trace.OpKernel, trace.OpCopy,
		trace.OpRecordEvent, trace.OpWaitEvent, trace.OpWaitStream, trace.OpSynchronize, trace.OpBusy, trace.OpDrain, trace.OpDestroyStream, trace.OpDeviceFree, trace.OpFault,
		"unheard_of",
	}
	one := func() trace.Op {
		return trace.Op{
			Kind: kinds[r.IntN(len(kinds))], ID: 1 + r.Int64N(9), Device: spec.Device(r.IntN(2)), Stream: 16 * r.IntN(3), On: 48, Event: 5, Size: 64 + r.Uint64N(64),
			Align: uint64(r.IntN(3) / 2 * 32), Reads: []trace.OpRange{{ID: 3, Bytes: 8}, {ID: 4}}, Writes: []trace.OpRange{{ID: 7}},
			Fault: spec.FaultSpec{Call: "Malloc", Nth: 2, Error: spec.FaultUnknown},
		}
	}
	named := func(name string) string { return []string{"", name}[r.IntN(2)] }
	w := &writer{
		library: named("some/") + "lib.so", header: trace.Header{Devices: 2, TotalMemory: 4096, Threads: r.IntN(8) / 7}, about: []string{"a rule", "", "found "},
		functions: Functions{
			Malloc: "m", Free: "f", RecordStream: named("rs"), Init: named("i"), Reset: named("e"), MallocAligned: named("ma"), Resize: named("r"), Sleep: named("s"), Wake: named("w"),
			End: named("end"),
		},
	}
	for range 1 + r.IntN(4) {
		w.ops = append(w.ops, one())
	}
	cplusplus, inCplusplus := w.cplusplus()
	python, inPython := w.python()
	calls, _ := w.calls(" ", "{", "}", ";")
	fmt.Fprintf(out, "program %q: %v %s, %v %s\n", calls, inCplusplus, kept.Sum(cplusplus), inPython, kept.Sum(python))
}

// An asked is an allocator that answers by chance, and remembers what it was asked.
type asked struct {
	subject
	r       *rand.Rand
	able    abilities
	has     [2]bool // record_stream and empty_cache
	log     []string
	answers uint64
}

func newAsked(r *rand.Rand) *asked {
	yes := func() bool { return r.IntN(4) > 0 }
	return &asked{r: r, able: abilities{aligns: yes(), resizes: yes(), sleeps: yes(), ends: yes()}, has: [2]bool{yes(), yes()}}
}

func (s *asked) can() abilities           { return s.able }
func (s *asked) records() bool            { return s.has[0] }
func (s *asked) empties() bool            { return s.has[1] }
func (s *asked) settle()                  { s.log = append(s.log, "settle") }
func (s *asked) allow(bytes uint64)       { s.log = append(s.log, fmt.Sprint("allow ", bytes)) }
func (s *asked) refused() string          { return []string{"", "", "", "", "cudaFree"}[s.r.IntN(5)] }
func (s *asked) leaves() string           { return "cudaErrorSome" }
func (s *asked) begin(*fakegpu.GPU) error { return nil }

func (s *asked) call(m message) (words [8]uint64, exception string) {
	s.log = append(s.log, fmt.Sprint(m.Type, m.Number, m.Words))
	if s.r.IntN(6) == 0 {
		exception = "it threw"
	}
	if s.r.IntN(6) > 0 {
		s.answers += 512
		words[0] = s.answers
	}
	if s.r.IntN(3) == 0 {
		words[leftWord] = uint64(s.r.IntN(3)-1)<<32 | uint64(uint16(s.r.IntN(2)))<<16 | uint64(s.r.IntN(3))
	}
	return words, exception
}

// program makes random calls, and tells what became of each.
func (s *asked) program(out *strings.Builder) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 1<<20)})
	contract := Contract{Zero: s.r.IntN(2) == 0, Any: s.r.IntN(2) == 0, Warm: s.r.IntN(4) == 0, Blocking: s.r.IntN(2) == 0, Memory: []string{"", "host"}[s.r.IntN(2)]}
	contract.Anywhere, contract.Keeps = contract.Any && s.r.IntN(2) == 0, s.r.Uint64N(2)
	began, err := (&examination{subject: s, contract: contract}).newAllocator(gpu, &trace.Header{Devices: 2, Streams: []spec.Stream{0, 16, 32, 48}, Threads: 1})
	fmt.Fprintf(out, "began %v, blocking %v\n", err, gpu.IsBlocking(0))
	a, is := began.(*allocator)
	if !is || err != nil {
		return
	}
	if s.r.IntN(2) == 0 { // which it keeps
		_, _ = gpu.Malloc(spec.Device(s.r.IntN(2)), 512)
	}
	for range 20 {
		s.log = nil
		name, result := s.one(a)
		complaint, words := a.Complaint()
		fmt.Fprintf(out, "%s: %v; %v; %d %s; %d live, %v\n", name, result, s.log, complaint, words, len(a.live), a.Keeps())
	}
	s.log = nil
	fmt.Fprintf(out, "aligns %v, resizes %v, sleeps %v, ends full %v, close: %v; %v\n", a.Aligns(), a.Resizes(), a.Sleeps(), a.EndsFull(), a.Close(), s.log)
}

// one makes one call.
func (s *asked) one(a *allocator) (name string, result any) {
	p := spec.Ptr(512 * s.r.IntN(int(s.answers/512)+3))
	if live := slices.Sorted(maps.Keys(a.live)); len(live) > 0 && s.r.IntN(4) > 0 {
		p = live[s.r.IntN(len(live))]
	}
	dev, stream, thread := []spec.Device{0, 0, 0, 0, 1, 1, 1, -1, 2}[s.r.IntN(9)], spec.Stream(16*s.r.IntN(4)), spec.Thread(s.r.IntN(2))
	request := spec.Request{Device: dev, Stream: stream, Thread: thread, Bytes: uint64(s.r.IntN(3) * 512)}
	switch s.r.IntN(12) {
	case 0, 1, 2:
		p, err := a.Malloc(request)
		return fmt.Sprintf("malloc %+v", request), fmt.Sprint(p, err)
	case 3:
		p, err := a.MallocAligned(request, 64)
		return fmt.Sprintf("aligned %+v", request), fmt.Sprint(p, err)
	case 4, 5:
		return fmt.Sprint("free ", p), a.Free(p)
	case 6:
		return fmt.Sprint("free on ", p, stream, thread), a.FreeOn(p, dev, stream, thread)
	case 7:
		return fmt.Sprint("record_stream ", p, dev, stream), a.RecordStream(p, dev, stream)
	case 8:
		return fmt.Sprint("resize ", p), a.Resize(p, 1024)
	case 9:
		return "empty_cache", a.EmptyCache()
	case 10:
		return "end_thread", a.EndThread(thread)
	}
	if s.r.IntN(2) == 0 {
		return "sleep", a.Sleep()
	}
	return "wake", a.Wake()
}

// An always gives one address, whatever it is asked for.
type always struct{ *asked }

func (s always) call(message) (words [8]uint64, exception string) {
	return [8]uint64{4096}, ""
}
func (s always) refused() string { return "" }

// TestWholeReport: what is found of an allocator that gives one address always, as people and programs are told it, and
// the files of the shortest programs.
func TestWholeReport(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	s := &Search{Library: "lib.so", Level: conformance.Caching, Operations: 40, Devices: 1, Seed: 3, Directory: Violations}
	x := &examination{subject: always{newAsked(rand.New(rand.NewPCG(1, 1)))}, contract: Contract{Align: 256}}
	found, err := conformance.Examine(x.newAllocator, s.Level, s.options(x)...)
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Report: found, Functions: Functions{Malloc: "m", Free: "f"}, Contract: x.contract, Lacking: []string{"cudaX is not there"}}
	if err := errors.Join(s.writeAll(r), s.hideFromGit(), s.hideFromGit()); err != nil {
		t.Fatal(err)
	}
	summary, err := json.MarshalIndent(r.Summary(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	told := r.String() + string(summary) + "\n"
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, failed := os.ReadFile(path)
			told += fmt.Sprintln(path, kept.Sum(string(text)))
			err = failed
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kept.Compare(t, filepath.Join(testdata, "whole_report"), told)
}
