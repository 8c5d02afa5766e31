package mutants

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
)

type folder struct {
	dir   string
	tests []string
}

// folders are the folders that can be changed, each with the packages whose tests are to notice:
// all of them, or those of a name. Go is changed where no other extension stands behind the folder.
var folders = []folder{
	{"alloc", []string{"alloc", "tests/concurrent", "tests/golden", "tests/upstream", "tests/linearizability", "tests/property", "tests/earlyreuse", "internal/refinement"}},
	{"fakegpu", []string{"fakegpu TestRandomCalls|TestTranscripts", "fakegpu", "tests/earlyreuse", "alloc", "tests/upstream", "tools/check", "tools/replay"}},
	{"model", []string{"model", "model/bounded", "internal/refinement", "tests/linearizability"}},
	{"model/bounded", []string{"model/bounded", "tests/tla/alone"}},
	{"spec", []string{"spec", "spec/settings", "spec/invariant", "alloc", "fakegpu"}},
	{"spec/settings", []string{"spec/settings", "spec", "alloc"}},
	{"spec/trace", []string{"spec/trace", "tools/replay", "tests/golden"}},
	{"spec/invariant", []string{"spec/invariant", "tests/property", "alloc"}},
	{"spec/happensbefore", []string{"spec/happensbefore", "fakegpu", "tests/earlyreuse"}},
	{"model/abstract", []string{"model/abstract", "internal/refinement"}},
	{"model/explore", []string{"model/explore"}},
	{"model/tlc", []string{"model/tlc"}},
	{"conformance", []string{"conformance", "conformance/perform", "tests/arena"}},
	{"conformance/perform", []string{"conformance/perform", "conformance", "tests/arena", "tests/golden", "tests/graphtree", "tools/replay"}},
	{"graphtree", []string{"graphtree", "tests/graphtree"}},
	{"upstream", []string{"upstream"}},
	{"cudaimpl", []string{"cudaimpl", "tests/gpu"}},
	{"cudaimpl/pluggable", []string{"cudaimpl/pluggable", "tests/gpu"}},
	{"fakegpu/cuda", []string{"fakegpu/cuda"}},
	{"fakegpu/cuda/host", []string{"fakegpu/cuda/host", "tests/gpu", "fakegpu/cuda"}},
	{"internal/refinement", []string{"internal/refinement"}},
	{"internal/unpack", []string{"internal/unpack", "snapshot"}},
	{"cmd/gaugeblock", []string{"cmd/gaugeblock"}},
	{"tools/check", []string{"tools/check", "cmd/gaugeblock TestTranscripts"}},
	{"tools/compare", []string{"tools/compare", "cmd/gaugeblock TestTranscripts"}},
	{"tools/examine", []string{"tools/examine TestAnswers|TestWholeReport|TestParts|TestWordsOfContracts|TestParseContract|TestFindPair|TestThrown|TestBegins|TestSearched", "tools/examine", "cmd/gaugeblock TestTranscripts|TestExamine"}},
	{"tools/fit", []string{"tools/fit", "cmd/gaugeblock TestTranscripts"}},
	{"tools/foreign", []string{"tools/foreign"}},
	{"tools/release", []string{"tools/release"}},
	{"tools/replay", []string{"tools/replay", "tests/golden", "cmd/gaugeblock TestTranscripts"}},
	{"tools/run", []string{"tools/run", "cmd/gaugeblock TestTranscripts|TestRun"}},
	{"tools/torch", []string{"tools/torch"}},
	{"tools/torch/bench", []string{"tools/torch/bench"}},
	{"tools/torch/edges", []string{"tools/torch/edges", "tools/torch TestEveryEdge|TestEdgesOfRelease|TestWalkEndsAtOtherError"}},
	{"tools/torch/wheel", []string{"tools/torch/wheel", "cmd/gaugeblock TestTorch"}},
	{"tools/zoo", []string{"tools/zoo"}},
	{"snapshot/errortext", []string{"snapshot/errortext", "cmd/gaugeblock TestErrorTexts|TestTranscripts"}},
	{"snapshot/history", []string{"snapshot/history", "snapshot/tell"}},
	{"snapshot/play", []string{"snapshot/play", "snapshot/tell"}},
	{"snapshot/compare", []string{"snapshot/compare", "snapshot/tell"}},
	{"snapshot/tell", []string{"snapshot/tell", "cmd/gaugeblock TestTranscripts"}},
	{"snapshot/report", []string{"snapshot/report", "cmd/gaugeblock TestTranscripts"}},
	{"snapshot", []string{"snapshot", "snapshot/tell TestTranscripts", "cmd/gaugeblock TestTranscripts"}},
	{"cudaimpl/pluggable/libgaugeblock", []string{"tests/gpu"}},
	{"fakegpu/cuda/gpus", []string{"fakegpu/cuda/gpus", "cmd/gaugeblock TestRun"}},
	{"internal/brief", []string{"internal/brief"}},
	{"internal/cache", []string{"internal/cache"}},
	{"internal/getenv", []string{"fakegpu/cuda TestEnvironment"}},
	{"internal/inorder", []string{"internal/inorder"}},
	{"internal/memlimit", []string{"internal/memlimit"}},
	{"internal/quote", []string{"internal/quote"}},
	{"internal/rewrite", []string{"internal/rewrite", "tests/mutants", "tests/linearizability/instrument"}},
	{"internal/signals", []string{"tools/run"}},
	{"internal/similar", []string{"internal/similar", "spec/settings"}},
	{"internal/sizes", []string{"internal/sizes"}},
	{"internal/torchversion", []string{"tools/torch/wheel", "tools/replay"}},
	{"model/abstract/refinement", []string{"model/abstract", "internal/refinement"}},
	{"model/digest", []string{"model/digest"}},
	{"tla", []string{"tla"}},
	{"tools/reference", []string{"snapshot/record", "tools/replay", "tests/golden"}},
	{"tools/torch/binary", []string{"tools/torch"}},
	{"cudaimpl:c", []string{"cudaimpl TestDrivers", "tests/gpu"}},
	{"cudaimpl/pluggable/libgaugeblock/shim:cc", []string{"cudaimpl/pluggable TestShim"}},
	{"fakegpu/cuda/lib:c", []string{"fakegpu/cuda TestAnswers|TestCalls|TestQuestions|TestKernels|TestThreads|TestForms|TestHeaders", "fakegpu/cuda"}},
	{"fakegpu/cuda/machine", []string{"fakegpu/cuda"}},
	{"fakegpu/cuda/thin:c", []string{"fakegpu/cuda TestThinAnswers|TestSizesStay|TestRanks", "fakegpu/cuda"}},
	{"python/gaugeblock:py", []string{"tools/release TestPackage", "tools/release TestWheel"}},
	{"python/site:py", []string{"tools/run TestPython.*|TestTorch|TestTorchResets|TestTorchHistory|TestTorchLines|TestTorchOtherAllocator|TestTorchBackward|TestValues|TestInterruptedTraining|TestEndings|TestTorchAlone"}},
	{"python/values:cc", []string{"tools/run TestValues|TestTorchAssumed"}},
	{"snapshot/record:py", []string{"snapshot/record"}},
	{"tools/examine/host:cc", []string{"tools/examine"}},
	{"tools/examine/host:py", []string{"tools/examine"}},
	{"tools/examine/programs:cc", []string{"tools/examine"}},
	{"tools/examine/programs:py", []string{"tools/examine"}},
	{"tools/torch/binary/adaptor:cc", []string{"tools/torch"}},
	{"tools/torch/cplusplus:cc", []string{"tools/torch"}},
}

// ofDevelopers are the folders outside of tests/ whose code no user runs: they serve tests, or build something.
var ofDevelopers = []string{
	"fakegpu/cuda/build", "internal/checkout", "internal/churn", "internal/gcpercent", "internal/kept", "internal/mutated", "internal/rulenotes",
	"internal/testfolder", "tools/foreign/build", "tools/foreign/cub", "tools/foreign/cupy", "tools/foreign/program", "tools/foreign/python",
	"tools/foreign/rmm", "tools/foreign/tms", "tools/torch/bench/native", "tools/zoo/run",
}

// TestMain tries mutants if it is asked to.
func TestMain(m *testing.M) {
	flag.Parse()
	if !*try && !*prune && !*list && !*sum {
		os.Exit(m.Run())
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var (
	try     = flag.Bool("try", false, "try mutants of the folders that are named, or of all")
	seed    = flag.Uint64("seed", 1, "of the choice of mutants")
	n       = flag.Int("n", 50, "mutants of each folder that compile; 0: all")
	wanted  = flag.String("kinds", "", "kinds of mutants, with commas; all but lock if empty")
	race    = flag.Bool("race", false, "run tests/concurrent and the tests of the folder, under the race detector")
	only    = flag.String("file", "", "only mutants of these files, or of these lines of them: FILE:LINE, with commas")
	with    = flag.String("tests", "", "run the tests of these packages, with commas, and not those that go with the folder")
	workers = flag.Int("workers", runtime.NumCPU(), "mutants that are tried at a time")
	list    = flag.Bool("list", false, "list the mutants and do nothing")
	base    = flag.String("overlay", "", "build with the files of this overlay too")
	tried   = flag.String("tried", "", "leave out the mutants that this log of earlier runs has")
	argued  = flag.String("argued", "", "a file of groups of mutants that need not be noticed (see groups_test.go)")
	apart   = flag.Bool("apart", false, "tell changed properties apart from the right ones (see apart_test.go)")
	write   = flag.String("write", "", "write the overlay of the mutants into this folder, print their numbers and names, and do nothing")
	asked   = flag.String("asked", "", "with -apart, ask in what this file lists, and not in all: mistakes, configurations, and mutants of the overlay in these")
	within  = flag.Duration("for", 0, "with -apart, begin no configuration after so long")
	sum     = flag.Bool("sum", false, "print tables by room and by operator of the logs that are named, and do nothing")
	prune   = flag.Bool("prune", false, "take the arguments about what is no mutant any more out of "+equivalentFile)
)

func run() error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	if *sum {
		t, err := newTables(flag.Args())
		if err == nil {
			fmt.Print(t)
		}
		return err
	}
	equivalent, err := readEquivalent(filepath.Join(root, equivalentFile))
	if err != nil {
		return err
	}
	if *prune {
		return equivalent.prune(root)
	}
	var groups []group
	if *argued != "" {
		if groups, err = readGroups(*argued); err != nil {
			return err
		}
	}
	for _, arg := range flag.Args() {
		if !slices.ContainsFunc(folders, func(f folder) bool { return f.dir == arg }) {
			return fmt.Errorf("%q is none of the folders that can be changed", arg)
		}
	}
	survivors, before := 0, changesOf(root)
	var failed error // of folders whose mutants could not be tried
	for _, folder := range folders {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), folder.dir) {
			continue
		}
		chosen, err := choose(root, folder, *wanted, *only, *seed)
		if err != nil {
			return err
		}
		if *list {
			for _, m := range chosen {
				fmt.Printf("%s:%d: %s\n", m.file, m.line, m.name())
			}
			continue
		}
		tests := folder.tests
		if *with != "" {
			tests = strings.Split(*with, ",")
		}
		folder.tests = tests
		var r result
		if strings.Contains(folder.dir, ":") {
			r, err = tryLines(root, folder, max(1, *workers), chosen, *n, equivalent)
		} else {
			b := &bench{race: *race, workers: max(1, *workers), groups: groups}
			r, err = b.tryAll(root, folder.dir, tests, chosen, *n, equivalent)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", folder.dir, err))
		}
		survivors += r.survived
	}
	if survivors > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d mutants survive and are not argued", survivors))
	}
	return errors.Join(failed, leftBehind(before, changesOf(root)))
}

// tryAll tries the first n mutants of a folder that compile.
func (b *bench) tryAll(root, folder string, tests []string, chosen []mutant, n int, equivalent arguments) (r result, err error) {
	dir := *write
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mutants"); err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
	}
	built, broken, err := newBuild(root, dir, folder, chosen, n)
	if err != nil {
		return r, err
	}
	b.build = built
	if *write != "" {
		for _, number := range b.order {
			fmt.Printf("%d\t%s\n", number, b.mutants[number].name())
		}
		return r, nil
	}
	if *apart {
		return b.tellApart()
	}
	if b.race {
		tests = []string{"tests/concurrent", folder}
	}
	if err := b.prepare(tests); err != nil {
		return r, err
	}
	r = b.all(equivalent)
	fmt.Printf("%s: %s (%d more do not compile)\n", folder, r, broken)
	return r, nil
}

// find lists the mutants of a folder, of the kinds that are wanted, or of all.
func (f folder) find(root string, kinds []string) ([]mutant, error) {
	dir, extension, isLines := strings.Cut(f.dir, ":")
	if !isLines {
		return findAll(root, dir, kinds)
	}
	return findLines(root, dir, "."+extension, func(kind string) bool { return len(kinds) == 0 || slices.Contains(kinds, kind) })
}

// choose lists the mutants of a folder in a random order.
func choose(root string, f folder, wanted, only string, seed uint64) ([]mutant, error) {
	names := strings.FieldsFunc(wanted, func(r rune) bool { return r == ',' })
	for _, name := range names {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }) {
			return nil, fmt.Errorf("there is no kind %q", name)
		}
	}
	all, err := f.find(root, names)
	if err != nil {
		return nil, err
	}
	if only != "" {
		places := strings.Split(only, ",")
		all = slices.DeleteFunc(all, func(m mutant) bool {
			return !slices.Contains(places, m.file) && !slices.Contains(places, fmt.Sprintf("%s:%d", m.file, m.line))
		})
	}
	if len(names) == 0 {
		all = slices.DeleteFunc(all, func(m mutant) bool { return m.kind == "lock" })
	}
	if *tried != "" {
		if all, err = untried(all, *tried); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(names, []string{"lock"}) {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all, nil
}

// untried leaves out the mutants of a log. Lines may have moved since: of mutants with the same name as many are left
// out as the log has.
func untried(all []mutant, file string) ([]mutant, error) {
	log, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	times := map[string]int{}
	for line := range strings.Lines(string(log)) {
		if parts := strings.Split(line, "\t"); len(parts) == 4 {
			name, _, _ := strings.Cut(parts[0], ":")
			times[name+"\t"+parts[1]+"\t"+parts[2]]++
		}
	}
	return slices.DeleteFunc(all, func(m mutant) bool {
		name := m.file + "\t" + m.name()
		times[name]--
		return times[name] >= 0
	}), nil
}
