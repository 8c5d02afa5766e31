package linearizability_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Where may another thread of a program run while an operation of the reference is under way? Only
// where no mutex is held: before a Lock, after an Unlock, in driver calls and functions of the program
// that are called without one. points has each such place of alloc/, and the pause of
// the scheduler that stands for it, or why it needs none.
//
//	pause        the scheduler pauses there
//	between      nothing happens in the operation before it, or after it: the pause between two
//	             operations stands for it
//	inner        another mutex is held, or what is guarded is used by no other operation of programs
//	no program   programs have no such operation; tests/suites/concurrent calls it
var points = map[string]string{
	"malloc: d.lock":                                         "pause: malloc",
	"malloc: d.maybeGatherContext":                           "pause: malloc",
	"free: d.lock":                                           "pause: lock",
	"free: d.maybeGatherContext":                             "pause: lock",
	"onEachDeviceWithContext: d.maybeGatherContext":          "pause: lock, of an EmptyCache before each device",
	"driverMallocLocked: d.withoutMutexLocked":               "pause: ask, answer",
	"triggerFreeMemoryCallbacksLocked: d.withoutMutexLocked": "pause: callback",
	"withoutMutexLocked: d.mu.Lock":                          "pause: answer, callback: it ends a stretch without the mutex",
	"report: observe":                                        "between: it is the last that a malloc does",

	"withMutex: d.mu.Lock":    "between: of one device; operations on all devices are checked device by device (check.go)",
	"recordStream: d.mu.Lock": "between: the device of the pointer is found before, from a table that a free pauses after (lock)",
	"Config: d.mu.Lock":       "inner: the settings are read with Allocator.configuring held",

	"Configure: a.configuring.Lock":                         "between: programs have one thread that sets settings at a time",
	"RecordHistory: a.configuring.Lock":                     "no program",
	"setHistory: a.mu.Lock":                                 "inner",
	"historyOptions: a.mu.Lock":                             "no program",
	"Annotate: a.mu.Lock":                                   "no program",
	"snapshot: a.mu.Lock":                                   "between: annotations, of which programs have none",
	"onEachDeviceInOrder: a.configuring.Lock":               "no program",
	"Checkpoint: a.maybeGatherContext":                      "no program",
	"Restore: a.maybeGatherContext":                         "no program",
	"maybeGatherContext: gather":                            "pause: where it is called",
	"gather: record":                                        "pause: where maybeGatherContext is called",
	"lockInTurn: d.turns.Lock":                              "pause: where lock is called",
	"lockInTurn: d.mu.Lock":                                 "pause: where lock is called",
	"hasAllocated: d.mu.Lock":                               "no program: they have one device",
	"maybeGatherContext: a.devices[dev].maybeGatherContext": "no program",
	"Annotate: Now":                                         "no program",

	"get: p.mu.Lock":          "inner",
	"put: p.mu.Lock":          "inner",
	"destroy: p.mu.Lock":      "no program",
	"metadataFor: m.mu.Lock":  "inner",
	"keep: u.mu.Lock":         "inner",
	"keepRange: u.mu.Lock":    "no program",
	"release: u.mu.Lock":      "inner",
	"releaseAgain: u.mu.Lock": "inner",
	"takeRange: u.mu.Lock":    "inner",

	"BaseAllocation: d.mu.Lock":             "no program",
	"ShareHandle: d.mu.Lock":                "no program",
	"OpenHandle: a.opened.mu.Lock":          "no program",
	"importPages: d.mu.Lock":                "no program",
	"Close: a.opened.mu.Lock":               "no program",
	"addPeer: o.mu.Lock":                    "no program",
	"PushCompileContext: a.threads.mu.Lock": "no program",
	"PopCompileContext: a.threads.mu.Lock":  "no program",
	"SetUserMetadata: a.threads.mu.Lock":    "no program",
	"UserMetadata: a.threads.mu.Lock":       "no program",
	"has: u.mu.Lock":                        "no program",
	"take: u.mu.Lock":                       "no program",
	"put: u.mu.Lock":                        "no program",
	"malloc: d.driver.Malloc":               "no program: uncached memory",
	"free: d.driver.Free":                   "no program: uncached memory",
}

// TestPointsAreComplete compares points with the source of alloc/.
func TestPointsAreComplete(t *testing.T) {
	found := map[string]bool{}
	paths, err := filepath.Glob("../../../alloc/*.go")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				for _, p := range pointsOf(f, filepath.Base(path)) {
					found[f.Name.Name+": "+p] = true
				}
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		if points[p] == "" {
			t.Errorf("%s: is there a pause?", p)
		}
	}
	for p := range points {
		if !found[p] {
			t.Errorf("%s is not in the source", p)
		}
	}
	if len(found) < 40 {
		t.Errorf("only %d points were found", len(found))
	}
}

// pointsOf lists the places of a function at which no mutex is held.
func pointsOf(f *ast.FuncDecl, file string) (list []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		text := written(call.Fun)
		last := text[strings.LastIndex(text, ".")+1:]
		switch {
		case last == "Lock", last == "lock", last == "withoutMutexLocked", last == "maybeGatherContext":
			list = append(list, text)
		case last == "record" || last == "gather" || last == "observe" || last == "Now" && f.Name.Name == "Annotate":
			list = append(list, last)
		case file == "uncached.go" && strings.HasPrefix(text, "d.driver."):
			list = append(list, text)
		}
		return true
	})
	return list
}

// written is an expression as it is written, if it is a chain of names and indices.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return written(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return written(e.X) + "[" + written(e.Index) + "]"
	}
	return "?"
}
