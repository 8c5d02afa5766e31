package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tla"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/upstream"
)

// standInName begins the name of a folder with a stand-in: an allocator that takes the place of PyTorch's in a worker.
// It is the reference by the rules of a release, with a mistake or without: what searches make of an allocator can be
// tested where there is no PyTorch.
const standInName = "stand-in-"

// standIn lets a worker have one, if its libraries are one's.
func standIn() {
	name, is := strings.CutPrefix(filepath.Base(os.Getenv(librariesVariable)), standInName)
	if !is {
		return
	}
	name, mistake, _ := strings.Cut(name, "-")
	release, known := upstream.Find(name)
	if !known {
		panic(name)
	}
	loadPyTorch = func(binary.Options) error {
		if mistake == "absent" {
			return errors.New("it cannot be loaded")
		}
		return nil
	}
	loadedRelease = func() string { return name }
	newPyTorch = standInFactory(release, mistake)
}

// standInFactory makes the reference by the rules of a release, with a mistake or without.
func standInFactory(release upstream.Release, mistake string) perform.Factory {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		if mistake == "hasty" {
			driver = hasty{driver.(*fakegpu.GPU)}
		}
		a, err := reference.Follows(release)(driver, h)
		if err != nil {
			return nil, err
		}
		return &standInAllocator{Allocator: a.(*alloc.Allocator), mistake: mistake}, nil
	}
}

// hasty is the device for an allocator that does not wait where it has to.
type hasty struct{ *fakegpu.GPU }

func (hasty) SynchronizeEvent(spec.EventHandle) error          { return nil }
func (hasty) SynchronizeStream(spec.Device, spec.Stream) error { return nil }
func (hasty) SynchronizeDevice(spec.Device) error              { return nil }

// standInAllocator is PyTorch's for those who look at it.
type standInAllocator struct {
	*alloc.Allocator
	mistake string
	held    []spec.HistoryEntry // of the order in which frees are told
	tell    func(spec.HistoryEntry)
	shifted spec.Ptr // a large allocation, of which the program is told another address
}

// OnTrace tells entries; of several frees that are completed one after the other, perhaps the last first.
func (a *standInAllocator) OnTrace(f func(spec.HistoryEntry)) error {
	if a.mistake != "reorders" {
		return a.Allocator.OnTrace(f)
	}
	a.tell = f
	return a.Allocator.OnTrace(func(e spec.HistoryEntry) {
		if e.Action != spec.ActionFreeCompleted {
			a.told()
			f(e)
			return
		}
		a.held = append(a.held, e)
	})
}

// told tells the frees that were held back.
func (a *standInAllocator) told() {
	for _, e := range slices.Backward(a.held) {
		a.tell(e)
	}
	a.held = nil
}

func (a *standInAllocator) Free(p spec.Ptr) error {
	defer a.told()
	if a.shifted != 0 && p == a.shifted+512 {
		p = a.shifted
	}
	return a.Allocator.Free(p)
}

func (a *standInAllocator) EmptyCache() error {
	defer a.told()
	return a.Allocator.EmptyCache()
}

func (a *standInAllocator) StatsWithCalls(spec.Device) {}

func (a *standInAllocator) LatestStats(dev spec.Device) (*spec.DeviceStats, error) {
	s, err := a.Stats(dev)
	return &s, err
}

func (a *standInAllocator) Stats(dev spec.Device) (spec.DeviceStats, error) {
	s, err := a.Allocator.Stats(dev)
	if n := s.Allocation[0].Current; a.mistake == "figures" && n > 5 || a.mistake == "figure" && n == 2 {
		s.NumAllocRetries++
	}
	return s, err
}

func (a *standInAllocator) Snapshot() (spec.Snapshot, error) {
	s, err := a.Allocator.Snapshot()
	if a.mistake == "layout" && len(s.Segments) > 2 {
		s.Segments[2].Stream++
	}
	return s, err
}

func (a *standInAllocator) Malloc(r spec.Request) (spec.Ptr, error) {
	defer a.told()
	switch {
	case a.mistake == "larger" && r.Bytes > 30<<20:
		r.Bytes += 512
	case a.mistake == "shifts" && r.Bytes > 30<<20:
		p, err := a.Allocator.Malloc(r)
		a.shifted = p
		return p + 512, err
	case a.mistake == "refuses" && r.Bytes > 30<<20:
		return 0, errors.New("it does not want to")
	}
	return a.Allocator.Malloc(r)
}

func (a *standInAllocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	if a.mistake == "crashes" && p>>9%8 == 5 {
		fmt.Fprintln(os.Stderr, "nobody knows why\n\nPC=0x1\nit was so\nand so\nand more")
		syscall.Exit(3)
	}
	if a.mistake == "forgets" {
		return nil
	}
	return a.Allocator.RecordStream(p, dev, s)
}

// newStandIn makes a folder with a stand-in: the library has the words by which the release is found.
func newStandIn(t *testing.T, name string) binary.Options {
	t.Helper()
	release, _, _ := strings.Cut(name, "-")
	r, known := upstream.Find(release)
	if !known {
		t.Fatalf("there is no release %q", release)
	}
	o := binary.Options{Libraries: filepath.Join(t.TempDir(), standInName+name), Headers: t.TempDir(), Work: t.TempDir()}
	version := filepath.Join(o.Headers, "torch", "headeronly", "version.h")
	must(t, errors.Join(
		os.MkdirAll(o.Libraries, 0o755), os.MkdirAll(filepath.Dir(version), 0o755),
		os.WriteFile(filepath.Join(o.Libraries, "libc10_cuda.so"), []byte("\x7fELF CUDACachingAllocator "+r.LibraryMark), 0o644),
		os.WriteFile(version, fmt.Appendf(nil, "#define TORCH_VERSION \"%s.0\"\n", release), 0o644),
	))
	return o
}

// TestStandIns compares what searches find with testdata/standin:
//
//	search RELEASE[-MISTAKE] areas=A,B ops=N [keep=N] [seed=N] [settings=TEXT]    the reference beside a stand-in
//	against RELEASE RELEASE areas=A,B ops=N                                       two stand-ins beside each other
//	edges RELEASE[-MISTAKE] config=NAME [length=N]                                a walk through a configuration
//
// Programs are written to a folder: what is in the files is in the answer, by its first lines.
func TestStandIns(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "standin"), func(t *testing.T, d *datadriven.TestData) string {
		var areas, settings, config string
		var ops, keep, seed, length int
		for key, at := range map[string]any{"areas": &areas, "settings": &settings, "config": &config, "ops": &ops, "keep": &keep, "seed": &seed, "length": &length} {
			d.MaybeScanArgs(t, key, at)
		}
		var chosen *string
		if d.HasArg("settings") {
			chosen = &settings
		}
		folder, counted := t.TempDir(), []int{}
		progress := func(n int) { counted = append(counted, n) }
		first := newStandIn(t, d.CmdArgs[0].Key)
		var report any
		var err error
		var last string
		switch d.Cmd {
		case "search":
			var r Report
			r, err = Search{
				PyTorch: first, Areas: strings.FieldsFunc(areas, isComma), Settings: chosen, Operations: ops, Seed: uint64(seed), Length: 200, Every: 10, Keep: keep,
				Directory: folder, Progress: progress,
			}.Run()
			r.Seconds, r.CPUSeconds, last, report = 0, 0, r.String(), &r
		case "against":
			var r AgainstReport
			r, err = Against{
				Builds: [2]binary.Options{first, newStandIn(t, d.CmdArgs[1].Key)}, Areas: strings.FieldsFunc(areas, isComma), Settings: chosen, Operations: ops, Seed: uint64(seed),
				Directory: folder, Progress: progress,
			}.Run()
			for i := range r.Causes {
				r.Causes[i].Seconds = 0
			}
			r.Seconds, last, report = 0, r.String(), &r
		case "edges":
			var r EdgeReport
			r, err = walked(t, EdgeRun{PyTorch: first, Length: length, Progress: progress}, config)
			last = fmt.Sprintf("%d unexplained, of which two are shown at most", len(r.Unexplained))
			r.Seconds, r.WorkerSeconds, r.Unexplained, report = 0, 0, r.Unexplained[:min(2, len(r.Unexplained))], &r
		}
		text, failed := json.MarshalIndent(report, "", " ")
		must(t, failed)
		told := fmt.Sprintf("%s\n%s\ncounted %d times, from %v to %v\n", text, last, len(counted), counted[:min(1, len(counted))], counted[max(len(counted)-1, 0):])
		if err != nil {
			told += err.Error() + "\n"
		}
		return strings.ReplaceAll(told+written(t, folder), folder, "FOLDER")
	})
}

func isComma(r rune) bool { return r == ',' }

func walked(t *testing.T, e EdgeRun, name string) (EdgeReport, error) {
	t.Helper()
	list, err := EdgeConfigurations()
	must(t, err)
	chosen, unknown := tla.Named(list, []string{name})
	if unknown != "" {
		t.Fatalf("there is no configuration %q", unknown)
	}
	return e.Run(chosen[0])
}

// written are the files of a folder, each by its first lines.
func written(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	files := map[string][]byte{}
	must(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[path], err = os.ReadFile(path)
		}
		return err
	}))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "== %s\n", strings.TrimPrefix(path, folder+"/"))
		for i, line := range strings.Split(strings.TrimSpace(string(files[path])), "\n") {
			if i == 6 {
				b.WriteString("...\n")
				break
			}
			if line != "" { // an empty line would end the answer
				fmt.Fprintf(&b, "%.300s\n", line)
			}
		}
	}
	return b.String()
}

// TestReleaseNumbers: releases are in order, one that is not known counts as 2.11, and from 2.10 on a pool may not be split.
func TestReleaseNumbers(t *testing.T) {
	for name, want := range map[string]struct {
		number  int
		noSplit bool
	}{"2.6": {206, false}, "2.9": {209, false}, "2.10": {210, true}, "": {211, true}, "9.9": {211, true}} {
		h, op := trace.Header{Release: name}, trace.Op{Kind: trace.OpPoolCreate, NoSplit: true}
		fit(&op, &h)
		if n := releaseNumber(&h); n != want.number || op.NoSplit != want.noSplit {
			t.Errorf("%q: %d, %v", name, n, op.NoSplit)
		}
	}
	op := trace.Op{Kind: trace.OpConfigure, Settings: "nonsense:1,max_split_size_mb:64"}
	if fit(&op, &trace.Header{Release: "2.11"}); op.Settings != "max_split_size_mb:64" {
		t.Error(op.Settings)
	}
}
