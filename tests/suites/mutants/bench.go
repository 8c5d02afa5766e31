package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench runs the tests on mutants, one at a time.
type bench struct {
	root  string
	tests []string // packages, in the order in which they are tried
	race  bool
	dir   string          // for the changed file and the test binaries
	took  []time.Duration // by package, unchanged
}

// result counts mutants.
type result struct {
	killed, argued, survived, broken int
}

func (r result) String() string {
	return fmt.Sprintf("%d mutants, %d killed, %d argued, %d survive (%d more do not compile)",
		r.killed+r.argued+r.survived, r.killed, r.argued, r.survived, r.broken)
}

// prepare runs the tests on the unchanged source: they must pass, and say how long they take.
func (b *bench) prepare() (err error) {
	if b.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	for _, pkg := range b.tests {
		start := time.Now()
		if out, status := b.test(pkg, "", 10*time.Minute); status != passes {
			return fmt.Errorf("%s fails unchanged: %s\n%s", pkg, status, out)
		}
		b.took = append(b.took, time.Since(start))
	}
	return nil
}

func (b *bench) close() { os.RemoveAll(b.dir) }

// all tries mutants until n have compiled, and says what became of each.
func (b *bench) all(chosen []mutant, n int, equivalent map[string]string) (r result, err error) {
	for i := range chosen {
		m := &chosen[i]
		if n > 0 && r.killed+r.argued+r.survived == n {
			break
		}
		by, err := b.try(m)
		if err != nil {
			return r, err
		}
		switch {
		case by == doesNotCompile:
			r.broken++
			continue
		case by != "":
			r.killed++
		case equivalent[m.name()] != "":
			r.argued++
			by = "argued: " + equivalent[m.name()]
		default:
			r.survived++
			by = "SURVIVES"
		}
		fmt.Printf("%s:%d\t%s\t%s\n", m.file, m.line, m.name(), by)
	}
	return r, nil
}

// try says which package's tests notice a mutant, and how; "" if none.
func (b *bench) try(m *mutant) (by string, err error) {
	file := filepath.Join(b.root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(b.dir, "changed.go"), filepath.Join(b.dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, m.apply(source), 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return "", err
	}
	for i, pkg := range b.tests {
		out, status := b.test(pkg, overlay, 30*time.Second+10*b.took[i])
		switch {
		case status == doesNotCompile:
			return doesNotCompile, nil
		case status != passes:
			return pkg + " " + status + ": " + firstFailure(out), nil
		}
	}
	return "", nil
}

const (
	passes         = "passes"
	fails          = "fails"
	hangs          = "hangs"
	doesNotCompile = "does not compile"
)

// readsSource are tests that read the source from its files, where it is unchanged.
const readsSource = "^(TestLocks|TestLocksFinds|TestPiecesAreThere|TestPointsAreComplete|TestDocumented.*|TestCommandsOfDocuments)$"

// test builds and runs the tests of a package, with an overlay if one is given.
func (b *bench) test(pkg, overlay string, limit time.Duration) (out []byte, status string) {
	pkg, only, _ := strings.Cut(pkg, " ")
	binary := filepath.Join(b.dir, "package.test")
	args := []string{"test", "-c", "-vet=off", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if b.race {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./"+pkg)...)
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return out, doesNotCompile
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	arguments := []string{"-test.failfast", "-test.short", "-test.skip=" + readsSource, "-test.run=" + only}
	if b.race && pkg == "tests/suites/concurrent" {
		arguments = []string{"-test.failfast", "-test.count=3"}
	}
	test := exec.CommandContext(ctx, binary, arguments...)
	test.Dir = filepath.Join(b.root, filepath.FromSlash(pkg))
	test.Env = append(os.Environ(), "GOMEMLIMIT=2GiB", "GORACE=halt_on_error=1")
	failures := filepath.Join(test.Dir, "testdata", "rapid") // what rapid writes, to be tried first the next time
	_, before := os.Stat(failures)
	out, err := test.CombinedOutput()
	if before != nil {
		os.RemoveAll(failures)
	}
	switch {
	case ctx.Err() != nil:
		return out, hangs
	case err != nil:
		return out, fails
	}
	return out, passes
}

// firstFailure is the name of the first test that failed, or what else the output begins with.
func firstFailure(out []byte) string {
	if bytes.Contains(out, []byte("WARNING: DATA RACE")) {
		return "data race"
	}
	for line := range strings.Lines(string(out)) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); found {
			return strings.Fields(name)[0]
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
