package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A checkoutCopy is a copy of the module, in which a file is changed for what is no Go: its tests build it or
// have it interpreted, each in its own way.
type checkoutCopy struct {
	root, dir string
	tests     []string
	limit     string // for the tests of a package
}

// tryLines tries the first n mutants that can be built, in as many copies at a time as there are workers.
func tryLines(root string, f folder, workers int, chosen []mutant, n int, equivalent arguments) (r result, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	copies := make(chan *checkoutCopy, workers)
	for i := range workers {
		c := &checkoutCopy{root, filepath.Join(dir, strconv.Itoa(i), filepath.Base(root)), f.tests, "10m"}
		if err := c.make(); err != nil {
			return r, err
		}
		copies <- c
	}
	first := <-copies
	began := time.Now()
	if by, _ := first.notices(""); by != "" {
		return r, fmt.Errorf("unchanged: %s", by)
	}
	limit := (time.Minute + 10*time.Since(began)).String()
	copies <- first
	broken := 0
	var mutex sync.Mutex
	inParallel(workers, len(chosen), func(i int) {
		c, m := <-copies, &chosen[i]
		defer func() { copies <- c }()
		mutex.Lock()
		enough := n > 0 && r.killed+r.argued+r.survived >= n
		mutex.Unlock()
		if enough {
			return
		}
		c.limit = limit
		by, builds := c.try(m)
		mutex.Lock()
		defer mutex.Unlock()
		if builds {
			r.count(m, by, equivalent[m.name()], "SURVIVES")
		} else {
			broken++
		}
	})
	fmt.Printf("%s: %s (%d more cannot be built)\n", f.dir, r, broken)
	return r, nil
}

// make copies the files that git knows, and what stands beside the module.
func (c *checkoutCopy) make() error {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = c.root
	out, err := list.Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(c.root, name))
		if errors.Is(err, os.ErrNotExist) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			return err
		}
		to := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		mode := os.FileMode(0o666)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o777
		}
		if err := os.WriteFile(to, text, mode); err != nil {
			return err
		}
	}
	return os.Symlink(filepath.Join(filepath.Dir(c.root), "shared"), filepath.Join(filepath.Dir(c.dir), "shared"))
}

// try says which package's tests notice a mutant, and whether it can be built.
func (c *checkoutCopy) try(m *mutant) (by string, builds bool) {
	file := filepath.Join(c.dir, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	if err != nil {
		return err.Error(), true
	}
	defer os.WriteFile(file, source, 0o666)
	if err := os.WriteFile(file, []byte(m.apply(string(source))), 0o666); err != nil {
		return err.Error(), true
	}
	return c.notices(filepath.Base(m.file))
}

// notices runs the tests, those that are named whole and others with -short.
func (c *checkoutCopy) notices(file string) (by string, builds bool) {
	unbuilt := regexp.MustCompile(regexp.QuoteMeta(file) + `:\d+(:\d+)?: (fatal )?error: |File "[^"]*` + regexp.QuoteMeta(file) + `", line \d+\n.*\n.*\n(?:\s*\^+\n)?SyntaxError`)
	for _, pkg := range c.tests {
		pkg, only, named := strings.Cut(pkg, " ")
		args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=" + c.limit}
		if named {
			args = append(args, "-run=^("+only+")$")
		} else {
			args = append(args, "-short")
		}
		t := exec.Command("go", append(args, "./"+pkg)...)
		t.Dir = c.dir
		out, err := t.CombinedOutput()
		if file != "" && unbuilt.Match(out) {
			return "", false
		}
		if err != nil && file == "" {
			return fmt.Sprintf("%s fails: %s\n%s", pkg, firstFailure(out), out), true
		}
		if err != nil {
			return pkg + " fails: " + firstFailure(out), true
		}
	}
	return "", true
}
