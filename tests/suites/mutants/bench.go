package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench runs tests on mutants, one at a time.
type bench struct {
	*build
	race  bool
	tests []*test // the quickest first
}

// test is a test of a package, or several that are run together.
type test struct {
	pkg, binary string
	names       []string
	took        time.Duration // of processor time, unchanged
	reaches     map[int]bool  // mutants; nil if not known, then all
}

// result counts mutants.
type result struct {
	killed, argued, survived int
}

func (r result) String() string {
	return fmt.Sprintf("%d mutants, %d killed, %d argued, %d survive", r.killed+r.argued+r.survived, r.killed, r.argued, r.survived)
}

// withoutUse are tests that are about files, which are not changed, or about speed.
const withoutUse = "^(TestLocks|TestLocksFinds|TestPiecesAreThere|TestPointsAreComplete|TestDocumented.*|TestCommandsOfDocuments)$"

// prepare builds the tests, and runs each on copies of the functions that are the same: it says which mutants it
// reaches, and how long it takes. A test that fails is left out.
func (b *bench) prepare(packages []string) error {
	for _, pkg := range packages {
		pkg, only, _ := strings.Cut(pkg, " ")
		binary, err := b.build.test(pkg, b.race)
		if err != nil {
			return err
		}
		names, err := b.list(pkg, binary, only)
		if err != nil {
			return err
		}
		if b.race {
			b.tests = append(b.tests, &test{pkg: pkg, binary: binary, names: names})
			continue
		}
		quick := &test{pkg: pkg, binary: binary, reaches: map[int]bool{}}
		for _, name := range names {
			t := &test{pkg: pkg, binary: binary, names: []string{name}}
			if err := b.measure(t); err != nil {
				fmt.Printf("%s %s is left out: %v\n", pkg, name, err)
				continue
			}
			if t.took > 60*time.Millisecond {
				b.tests = append(b.tests, t)
				continue
			}
			quick.names = append(quick.names, name)
			quick.took += t.took
			maps.Copy(quick.reaches, t.reaches)
		}
		b.tests = append(b.tests, quick)
	}
	slices.SortStableFunc(b.tests, func(s, t *test) int { return cmp.Compare(s.took, t.took) })
	return nil
}

// list lists the tests of a package.
func (b *bench) list(pkg, binary, only string) (names []string, err error) {
	c := exec.Command(binary, "-test.list", cmp.Or(only, "."))
	c.Dir = filepath.Join(b.root, filepath.FromSlash(pkg))
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pkg, err)
	}
	skip := regexp.MustCompile(withoutUse)
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "Benchmark") && !skip.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// measure runs a test on the copies that are the same.
func (b *bench) measure(t *test) error {
	if err := os.WriteFile(b.reachedFile(), nil, 0o644); err != nil {
		return err
	}
	out, status, took := b.run(t, same, 10*time.Minute)
	if status != passes {
		return fmt.Errorf("it %s unchanged: %s", status, firstFailure(out))
	}
	reached, err := os.ReadFile(b.reachedFile())
	if err != nil {
		return err
	}
	t.took, t.reaches = took, map[int]bool{}
	for line := range strings.Lines(string(reached)) {
		number, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		t.reaches[number] = true
	}
	return nil
}

func (b *bench) reachedFile() string { return filepath.Join(b.dir, "reached") }

// all tries each mutant, and says what became of it.
func (b *bench) all(equivalent map[string]string) (r result) {
	for _, number := range b.order {
		m := b.mutants[number]
		by := b.try(number)
		switch {
		case by != "":
			r.killed++
		case equivalent[m.name()] != "":
			r.argued++
			by = "argued: " + equivalent[m.name()]
		default:
			r.survived++
			by = "SURVIVES"
			if !slices.ContainsFunc(b.tests, func(t *test) bool { return t.reaches == nil || t.reaches[number] }) {
				by += ": no test reaches it"
			}
		}
		fmt.Printf("%s:%d\t%s\t%s\n", m.file, m.line, m.name(), by)
	}
	return r
}

// try says which package's tests notice a mutant, and how; "" if none.
func (b *bench) try(number int) (by string) {
	for _, t := range b.tests {
		if t.reaches != nil && !t.reaches[number] || len(t.names) == 0 {
			continue
		}
		if out, status, _ := b.run(t, number, 10*time.Second+5*t.took); status != passes {
			return t.pkg + " " + status + ": " + firstFailure(out)
		}
	}
	return ""
}

const (
	passes = "passes"
	fails  = "fails"
	hangs  = "hangs"
)

// run runs a test on a mutant. The limit is one of processor time; of time it may take twenty times as much, since the machine
// may have other things to do.
func (b *bench) run(t *test, number int, limit time.Duration) (out []byte, status string, took time.Duration) {
	if b.race {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+20*limit)
	defer cancel()
	args := []string{"-test.failfast", "-test.short", "-test.run=^(" + strings.Join(t.names, "|") + ")$"}
	if b.race && t.pkg == "tests/suites/concurrent" {
		args = []string{"-test.failfast", "-test.count=3"}
	}
	script := fmt.Sprintf(`ulimit -t %d; exec "$0" "$@"`, int(limit.Seconds()))
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", script, t.binary}, args...)...)
	c.Dir = filepath.Join(b.root, filepath.FromSlash(t.pkg))
	c.Env = append(os.Environ(), "GOMEMLIMIT=2GiB", "GORACE=halt_on_error=1", fmt.Sprintf("%s=%d", variable, number), reachedFile+"="+b.reachedFile())
	failures := filepath.Join(c.Dir, "testdata", "rapid") // what rapid writes, to be tried first the next time
	_, before := os.Stat(failures)
	out, err := c.CombinedOutput()
	if before != nil {
		os.RemoveAll(failures)
	}
	took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	switch {
	case ctx.Err() != nil || took > limit-time.Second:
		return out, hangs, took
	case err != nil:
		return out, fails, took
	}
	return out, passes, took
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
