package linearizability

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestPointsAreComplete counts, in the words of the source and without its types, what must be a
// point: calls of Lock and Unlock, of the methods of atomics, and of the methods of the
// driver and of a pool's memory. Each is one of the points of the instrumented build, and there are
// no others but the calls of functions of the program. (That each call that the fake driver counts
// was at a point is checked in every run: execution.missedCalls.)
func TestPointsAreComplete(t *testing.T) {
	found := map[string]int{}
	for _, row := range listPoints(t, "-programs", "1") {
		file, _, _ := strings.Cut(row.position, ":")
		switch of, method, isMethod := strings.Cut(row.callee, "."); {
		case row.kind != "call":
			found[file+" "+method]++
		case isMethod && driverMethods[method]:
			found[file+" "+method]++
		case isMethod:
			t.Errorf("%s: %s is no method of the driver", row.position, of+"."+method)
		}
	}
	counted := map[string]int{}
	paths, err := filepath.Glob("../../alloc/*.go")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, method := range callsIn(t, path) {
			counted[filepath.Base(path)+" "+method]++
		}
	}
	total := 0
	for name, n := range counted {
		total += n
		if found[name] != n {
			t.Errorf("%s is called %d times, at %d points", name, n, found[name])
		}
	}
	for name, n := range found {
		if counted[name] == 0 {
			t.Errorf("%s: %d points, and no call", name, n)
		}
	}
	if total < 100 {
		t.Errorf("only %d calls were counted", total)
	}
}

// synchronizing are the methods of mutexes and atomics.
var synchronizing = []string{"Lock", "TryLock", "Unlock", "RLock", "RUnlock", "Load", "Store", "Swap", "CompareAndSwap", "Add"}

// driverMethods are the methods of the driver's interfaces and of a pool's memory.
var driverMethods = methodsOf(
	reflect.TypeFor[spec.Driver](), reflect.TypeFor[spec.VirtualMemory](), reflect.TypeFor[spec.MemorySharing](),
	reflect.TypeFor[spec.PeerAccess](), reflect.TypeFor[spec.FabricAsker](), reflect.TypeFor[spec.PoolMemory](),
)

func methodsOf(interfaces ...reflect.Type) map[string]bool {
	methods := map[string]bool{}
	for _, of := range interfaces {
		for i := range of.NumMethod() {
			methods[of.Method(i).Name] = true
		}
	}
	return methods
}

// callsIn lists what is called as x.Method( in a file, for the methods that must be points. The
// allocator itself, which has methods of the same names, is always called a or a.Allocator.
func callsIn(t *testing.T, path string) (calls []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(path, -1, len(text)), text, nil, 0) // without comments
	var words []string
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return calls
		}
		if literal == "" || tok == token.SEMICOLON {
			literal = tok.String()
		}
		words = append(words, literal)
		n := len(words)
		if n < 4 || words[n-1] != "(" || words[n-3] != "." {
			continue
		}
		receiver, method := words[n-4], words[n-2]
		if slices.Contains(synchronizing, method) || driverMethods[method] && receiver != "a" && receiver != "Allocator" {
			calls = append(calls, method)
		}
	}
}

// unreached are the points that no program reaches, by the beginning of function and text, with the
// reason.
var unreached = map[string]string{
	"unreleasedPages.keep": "only when a driver call panics; alloc/panics_test.go",
	"releasePages: keep":   "only when a driver call panics; alloc/panics_test.go",

	"device.lockInTurn: d.mu.Lock": "only after twelve attempts to take the mutex, each of which another thread has forestalled",

	"outOfMemory.report: observe(spec.RejectionReport": laterRules,
	"device.fabricAccess: ":                            laterRules,
	"Allocator.SetDefaultReserve: ":                    laterRules,
	"Allocator.AnnotateBlock: ":                        laterRules,
}

// laterRules: the programs are run under 2.11's rules.
const laterRules = "only under the rules of later releases; alloc/testdata/rule_*"

// TestPointsAreReached: programs of all areas reach every point.
func TestPointsAreReached(t *testing.T) {
	met, reached := map[string]bool{}, map[string]bool{}
	list := listPoints(t, "-programs", "3500", "-schedules", "1")
	for _, row := range list {
		if row.reached > 0 {
			reached[row.function+row.text] = true
		}
	}
	for _, row := range list {
		name, _ := exempt(row)
		switch reason := unreached[name]; {
		case row.reached == 0 && reached[row.function+row.text]: // one of two that are the same
		case row.reached == 0 && reason == "":
			t.Errorf("no program reaches %s, %s: %s", row.position, row.function, row.text)
		case reason != "":
			met[name] = true
			if row.reached > 0 {
				t.Errorf("a program reaches %s, which is listed as not reached", row.position)
			}
		}
	}
	for name := range unreached {
		if !met[name] {
			t.Errorf("%s is not in the source", name)
		}
	}
}
