package mutants

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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bench runs tests on mutants: as many mutants at a time as there are workers.
type bench struct {
	*build
	race    bool
	workers int
	groups  []group
	tests   []*test // the quickest first
}

// test is a test of a package, or several that are run together.
type test struct {
	pkg, binary string
	flags       []string
	names       []string
	took        time.Duration // of processor time, unchanged
	reaches     map[int]bool  // mutants; nil if not known, then all
	fails       error         // unchanged
}

// result counts mutants.
type result struct {
	killed, argued, survived int
}

// count says what became of a mutant: who noticed it, or why nobody need, or that it survives.
func (r *result) count(m *mutant, by, reason, survives string) {
	switch {
	case by != "":
		r.killed++
	case reason != "":
		r.argued++
		by = "argued: " + reason
	default:
		r.survived++
		by = survives
	}
	fmt.Printf("%s:%d\t%s\t%s\n", m.file, m.line, m.name(), by)
}

func (r result) String() string {
	return fmt.Sprintf("%d mutants, %d killed, %d argued, %d survive", r.killed+r.argued+r.survived, r.killed, r.argued, r.survived)
}

// withoutUse are tests that are about files, which are not changed, or about speed.
const withoutUse = "^(TestLocks|TestLocksFinds|TestPiecesAreThere|TestPointsAreComplete|TestDocumented.*|TestCommandsOfDocuments)$"

// prepare builds the tests, and runs each on copies of the functions that are the same: it says
// which mutants it reaches, and how long it takes. A test that fails is left out.
func (b *bench) prepare(packages []string) error {
	if err := b.build.tests(packages, b.race); err != nil {
		return err
	}
	var each []*test
	for _, pkg := range packages {
		pkg, only, _ := strings.Cut(pkg, " ")
		found, err := b.list(pkg, only)
		if err != nil {
			return err
		}
		if b.race {
			all := *found[0]
			for _, t := range found[1:] {
				all.names = append(all.names, t.names...)
			}
			b.tests = append(b.tests, &all)
			continue
		}
		each = append(each, found...)
	}
	inParallel(b.workers, len(each), func(i int) { each[i].fails = b.measure(each[i], i) })
	quick := map[string]*test{}
	for _, t := range each {
		together := quick[t.pkg]
		switch {
		case t.fails != nil:
			fmt.Printf("%s %s is left out: %v\n", t.pkg, t.names[0], t.fails)
		case t.took > 60*time.Millisecond:
			b.tests = append(b.tests, t)
		case together == nil:
			quick[t.pkg] = t
			b.tests = append(b.tests, t)
		default:
			together.names = append(together.names, t.names...)
			together.took += t.took
			maps.Copy(together.reaches, t.reaches)
		}
	}
	slices.SortStableFunc(b.tests, func(s, t *test) int { return cmp.Compare(s.took, t.took) })
	return nil
}

// inParallel calls do with the numbers below n, in order, of which as many run at a time as there are
// workers.
func inParallel(workers, n int, do func(int)) {
	numbers := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	all.Wait()
}

// list lists the tests of a package.
func (b *bench) list(pkg, only string) (found []*test, err error) {
	binary := b.build.binary(pkg)
	list := func(flags ...string) ([]byte, error) {
		c := exec.Command(binary, append(flags, "-test.list", cmp.Or(only, "."))...)
		c.Dir = filepath.Join(b.root, filepath.FromSlash(pkg))
		return c.Output()
	}
	// A binary without rapid has no such flags. With -test.short rapid makes a fifth of the checks,
	// so these are the usual 100.
	flags := []string{"-rapid.nofailfile", "-rapid.seed=1", "-rapid.checks=500"}
	out, err := list(flags...)
	if err != nil {
		flags = nil
		out, err = list()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pkg, err)
	}
	skip := regexp.MustCompile(withoutUse)
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "Benchmark") && !skip.MatchString(name) {
			found = append(found, &test{pkg: pkg, binary: binary, flags: flags, names: []string{name}})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no tests", pkg)
	}
	return found, nil
}

// measure runs a test on the copies that are the same.
func (b *bench) measure(t *test, number int) error {
	file := filepath.Join(b.dir, fmt.Sprintf("reached%d", number))
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	out, status, took := b.run(t, same, 10*time.Minute, reachedFile+"="+file)
	if status != passes {
		return fmt.Errorf("it %s unchanged: %s", status, firstFailure(out))
	}
	reached, err := os.ReadFile(file)
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

// all tries each mutant, and says at once what became of it.
func (b *bench) all(equivalent arguments) (r result) {
	var mutex sync.Mutex
	vetted := b.vet()
	inParallel(b.workers, len(b.order), func(i int) {
		number := b.order[i]
		m := b.mutants[number]
		by := "go vet"
		if !vetted[number] {
			by = b.try(number)
		}
		mutex.Lock()
		defer mutex.Unlock()
		survives := "SURVIVES"
		if !slices.ContainsFunc(b.tests, func(t *test) bool { return t.reaches == nil || t.reaches[number] }) {
			survives += ": no test reaches it"
		}
		r.count(m, by, cmp.Or(equivalent[m.name()], reasonOf(b.groups, m)), survives)
	})
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

// run runs a test on a mutant. The limit is one of processor time; of time it may take twenty times
// as much, since the machine may have other things to do.
func (b *bench) run(t *test, number int, limit time.Duration, env ...string) (out []byte, status string, took time.Duration) {
	if b.race {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+20*limit)
	defer cancel()
	args := []string{"-test.failfast", "-test.short", "-test.run=^(" + strings.Join(t.names, "|") + ")$"}
	if b.race && t.pkg == "tests/concurrent" {
		args = []string{"-test.failfast", "-test.count=3"}
	}
	args = append(args, t.flags...)
	script := fmt.Sprintf(`ulimit -t %d; exec "$0" "$@"`, int(limit.Seconds()))
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", script, t.binary}, args...)...)
	c.Dir = filepath.Join(b.root, filepath.FromSlash(t.pkg))
	c.Env = slices.Concat(os.Environ(), env, []string{"GOMEMLIMIT=2GiB", "GORACE=halt_on_error=1", "GAUGEBLOCK_TESTS=all", "GOFLAGS=-trimpath -overlay=" + b.overlay, fmt.Sprintf("%s=%d", variable, number)})
	if b.workers > 1 && !b.race { // the others have processors of their own to use
		c.Env = append(c.Env, fmt.Sprintf("GOMAXPROCS=%d", max(2, runtime.NumCPU()/b.workers)))
	}
	out, err := c.CombinedOutput()
	took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	switch {
	case ctx.Err() != nil || took > limit-time.Second:
		return out, hangs, took
	case err != nil:
		return out, fails, took
	}
	return out, passes, took
}

// firstFailure is the name of the first test that failed, with that of its part, or what else the
// output begins with.
func firstFailure(out []byte) (first string) {
	if bytes.Contains(out, []byte("WARNING: DATA RACE")) {
		return "data race"
	}
	for line := range strings.Lines(string(out)) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: ")
		switch {
		case found && strings.HasPrefix(name, first):
			first = strings.Fields(name)[0]
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			return strings.TrimSpace(line)
		}
	}
	return first
}
